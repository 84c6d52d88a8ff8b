// RUN: redfuse-opt %s -redfuse-keep-entry | FileCheck %s

// CHECK:     module {
// CHECK:       func.func private @first()
// CHECK:       func.func @second()
// CHECK:       func.func private @outside()
module attributes {redfuse.entry = @second} {
  func.func @first() {
    return
  }
  func.func private @second() {
    return
  }
  func.func private @outside()
}
