// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// PTX as text.

// CHECK-LABEL: simt.kernel @inline
simt.kernel @inline(%i: i32, %h: f16, %p: i1) {
  // CHECK: %s = gpu.inline_ptx(%i, %i) model(%i) {text = "add.s32 $0, $1, $2;", constraints = "=r,r,r", modelled, pure} : (i32, i32) model(i32) -> (i32)
  // GENERIC: %s = "gpu.inline_ptx"(%i, %i, %i) <{text = "add.s32 $0, $1, $2;", constraints = "=r,r,r", modelled, pure, operandSegmentSizes = array<i32: 2, 1>}> : (i32, i32, i32) -> i32
  %s = gpu.inline_ptx(%i, %i) model(%i) {text = "add.s32 $0, $1, $2;", constraints = "=r,r,r", modelled, pure} : (i32, i32) model(i32) -> (i32)
  // CHECK: %a, %b = gpu.inline_ptx(%h, %p) model() {text = "{ .reg .b16 t; mov.b16 t, $2; mov.b16 $0, t; selp.s32 $1, 1, 0, $3; }", constraints = "=h,=r,h,b"} : (f16, i1) model() -> (f16, i32)
  // GENERIC: %a, %b = "gpu.inline_ptx"(%h, %p) <{text = "{ .reg .b16 t; mov.b16 t, $2; mov.b16 $0, t; selp.s32 $1, 1, 0, $3; }", constraints = "=h,=r,h,b", operandSegmentSizes = array<i32: 2, 0>}> : (f16, i1) -> (f16, i32)
  %a, %b = gpu.inline_ptx(%h, %p) model() {text = "{ .reg .b16 t; mov.b16 t, $2; mov.b16 $0, t; selp.s32 $1, 1, 0, $3; }", constraints = "=h,=r,h,b"} : (f16, i1) model() -> (f16, i32)
  // CHECK: gpu.inline_ptx() model() {text = "nanosleep.u32 100;", constraints = "", modelled} : () model() -> ()
  // GENERIC: "gpu.inline_ptx"() <{text = "nanosleep.u32 100;", constraints = "", modelled, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  gpu.inline_ptx() model() {text = "nanosleep.u32 100;", constraints = "", modelled} : () model() -> ()
  simt.return
}
