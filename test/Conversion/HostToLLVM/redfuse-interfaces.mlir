// RUN: redfuse-opt %s -redfuse-interfaces | FileCheck %s

// CHECK: func.func @public(%{{.*}}: f32) attributes {llvm.emit_c_interface}
func.func @public(%x: f32) {
  return
}
// CHECK: func.func private @hidden(%{{.*}}: f32) {
func.func private @hidden(%x: f32) {
  return
}
// CHECK: func.func private @declared(f32)
// CHECK-NOT: emit_c_interface
func.func private @declared(f32)
