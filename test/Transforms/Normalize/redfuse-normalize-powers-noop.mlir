// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-normalize-powers | diff %t.before -

// Exponents that are no whole numbers, too large, or not known.
func.func @others(%x: f32, %y: f32, %n: i32) -> (f32, f32, f32, f32) {
  %half = arith.constant 0.5 : f32
  %large = arith.constant 17.0 : f32
  %a = math.powf %x, %half : f32
  %b = math.powf %x, %large : f32
  %c = math.powf %x, %y : f32
  %d = math.fpowi %x, %n : f32, i32
  return %a, %b, %c, %d : f32, f32, f32, f32
}
