// RUN: redfuse-opt %s -redfuse-keep-entry | FileCheck %s

// Nobody says which: both stay public.
// CHECK:     func.func @first()
// CHECK:     func.func @second()
// CHECK:     func.func private @third()
module {
  func.func @first() {
    return
  }
  func.func @second() {
    return
  }
  func.func private @third() {
    return
  }
}
