// RUN: redfuse-opt %s -split-input-file -verify-diagnostics -redfuse-keep-entry

// expected-error@+1 {{'redfuse.entry' is @absent; expected the name of a func.func with a body}}
module attributes {redfuse.entry = @absent} {
  func.func @present() {
    return
  }
}

// -----

// expected-error@+1 {{'redfuse.entry' is @outside; expected the name of a func.func with a body}}
module attributes {redfuse.entry = @outside} {
  func.func private @outside()
}

// -----

// expected-error@+1 {{'redfuse.entry' is "f"; expected the name of a func.func with a body}}
module attributes {redfuse.entry = "f"} {
  func.func @f() {
    return
  }
}
