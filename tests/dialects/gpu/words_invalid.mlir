// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of copies and matrices on words refuse.

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<16x64xf16>
// expected-error@+1 {{1 index for !tile.buffer<16x64xf16> of rank 2}}
%a = gpu.ldmatrix_words %m[%i] : !tile.buffer<16x64xf16> -> i32

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<16x64xf16>
// expected-error@+1 {{ldmatrix moves 1, 2 or 4 matrices, not 3}}
%a, %b, %c = gpu.ldmatrix_words %m[%i, %i] : !tile.buffer<16x64xf16> -> i32, i32, i32

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<16x64xf32>
// expected-error@+1 {{ldmatrix transposes no elements of f32}}
%a = gpu.ldmatrix_words %m[%i, %i] {transposed} : !tile.buffer<16x64xf32> -> i32

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<16x4xf16>
// expected-error@+1 {{ldmatrix needs 16 bytes side by side on the last axis of !tile.buffer<16x4xf16>}}
%a = gpu.ldmatrix_words %m[%i, %i] : !tile.buffer<16x4xf16> -> i32

// -----

%i = "test.op"() : () -> i64
%w = "test.op"() : () -> i32
%m = "test.op"() : () -> !tile.buffer<16x12xf16>
// expected-error@+1 {{the rows of !tile.buffer<16x12xf16> do not begin at multiples of 16 bytes, as stmatrix needs}}
gpu.stmatrix_words %m[%i, %i], %w : !tile.buffer<16x12xf16>, i32

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 2, 3]>>
// expected-error@+1 {{the layout of !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 2, 3]>> takes 16 bytes apart, which ldmatrix moves together}}
%a = gpu.ldmatrix_words %m[%i, %i] : !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 2, 3]>> -> i32

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<16x64xbf16>
%x = "test.op"() : () -> !tile.view<?x?xf16, shared>
// expected-error@+1 {{array and buffer differ in element type}}
gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 8} : !tile.buffer<16x64xbf16>, !tile.view<?x?xf16, shared>

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<64xf16>
%x = "test.op"() : () -> !tile.view<?xf16, owned>
// expected-error@+1 {{cp.async reads an array that the kernel only reads, not !tile.view<?xf16, owned>}}
gpu.cp_async_elements %m[%i], %x[%i] {count = 8} : !tile.buffer<64xf16>, !tile.view<?xf16, owned>

// -----

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<64xf16>
%x = "test.op"() : () -> !tile.view<?xf16, shared>
// expected-error@+1 {{cp.async copies 4, 8 or 16 bytes, not 2}}
gpu.cp_async_elements %m[%i], %x[%i] {count = 1} : !tile.buffer<64xf16>, !tile.view<?xf16, shared>

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{mma.sync has no operands of f32; it has f16, bf16, tf32, f64, i8, u8, i4, u4, f8e4m3fn, f8e5m2}}
%d = gpu.mma_words [%w], [%w], [%w] {shape = "m16n8k8", a_type = "f32", b_type = "f16", acc_type = "f32"} : i32 by i32 in i32 -> i32

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{mma.sync does not multiply f16 by bf16}}
%d = gpu.mma_words [%w], [%w], [%w] {shape = "m16n8k8", a_type = "f16", b_type = "bf16", acc_type = "f32"} : i32 by i32 in i32 -> i32

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{mma.sync has no m16n8k16 of f8e4m3fn summed in f32; it has m16n8k32 in f32}}
%d = gpu.mma_words [%w], [%w], [%w] {shape = "m16n8k16", a_type = "f8e4m3fn", b_type = "f8e5m2", acc_type = "f32"} : i32 by i32 in i32 -> i32

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{a of m16n8k8 is 2 of i32 in each lane, not (i32)}}
%d = gpu.mma_words [%w], [%w], [%w] {shape = "m16n8k8", a_type = "f16", b_type = "f16", acc_type = "f32"} : i32 by i32 in i32 -> i32
