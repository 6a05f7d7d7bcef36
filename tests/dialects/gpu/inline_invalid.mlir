// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifier of inline PTX refuses.

%i = "test.op"() : () -> i32
// expected-error@+1 {{the constraints 'r,=r' name 1 results first}}
%a = gpu.inline_ptx(%i) model() {text = "", constraints = "r,=r"} : (i32) model() -> (i32)

// -----

%i = "test.op"() : () -> i32
// expected-error@+1 {{1 constraints for 1 results and 1 operands}}
%a = gpu.inline_ptx(%i) model() {text = "", constraints = "=r"} : (i32) model() -> (i32)

// -----

%i = "test.op"() : () -> i32
// expected-error@+1 {{the constraint of a register is h, r, l, f, d, b, not 'x'}}
gpu.inline_ptx(%i) model() {text = "", constraints = "x"} : (i32) model() -> ()

// -----


// expected-error@+1 {{the constraint of a register is h, r, l, f, d, b, not '=b'}}
%a = gpu.inline_ptx() model() {text = "", constraints = "=b"} : () model() -> (i1)

// -----

%i = "test.op"() : () -> i32
// expected-error@+1 {{a register 'f' does not hold i32}}
gpu.inline_ptx(%i) model() {text = "", constraints = "f"} : (i32) model() -> ()

// -----

%i = "test.op"() : () -> i32
// expected-error@+1 {{'$1' in the text names none of its 1 operands}}
gpu.inline_ptx(%i) model() {text = "mov $1;", constraints = "r"} : (i32) model() -> ()

// -----

%i = "test.op"() : () -> i32
// expected-error@+1 {{inline PTX is ASCII text of at most 64 KiB}}
gpu.inline_ptx(%i) model() {text = "mövé;", constraints = "r"} : (i32) model() -> ()

// -----

%i = "test.op"() : () -> i32
// expected-error@+1 {{the model of inline PTX has its results' types}}
%a = gpu.inline_ptx(%i) model() {text = "", constraints = "=r,r", modelled} : (i32) model() -> (i32)
