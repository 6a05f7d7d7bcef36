// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of tensor memory refuse.

%i = "test.op"() : () -> i64
%m = "test.op"() : () -> !tile.buffer<1xi64>
// expected-error@+1 {{an address in tensor memory is an i32, and lies in no !tile.buffer<1xi64>}}
gpu.tcgen05_alloc %m[%i] {columns = 32} : !tile.buffer<1xi64>

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{tensor memory comes in 32, 64, 128, 256 or 512 columns, not in 48}}
gpu.tcgen05_dealloc %w {columns = 48}

// -----

simt.kernel @k(%w: i32) attributes {simt.threads = 16} {
// expected-error@+1 {{gpu.tcgen05_dealloc is done by whole warps of 32 threads, and the block has 16}}
gpu.tcgen05_dealloc %w {columns = 32}
simt.return
}

// -----

%w = "test.op"() : () -> i32
%a = "test.op"() : () -> !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%p = "test.op"() : () -> i1
// expected-error@+1 {{tcgen05.mma does not multiply f16 by bf16}}
gpu.tcgen05_mma %w, %a, %b accumulate %p {a_type = "f16", b_type = "bf16"} : !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<16x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>

// -----

%w = "test.op"() : () -> i32
%a = "test.op"() : () -> !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%p = "test.op"() : () -> i1
// expected-error@+1 {{tcgen05.mma has M = 128, and N of 16 to 256 by 16, not 128 x 8 over 64 and 64}}
gpu.tcgen05_mma %w, %a, %b accumulate %p {a_type = "f16", b_type = "f16"} : !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{tcgen05 moves a power of two up to 128 words, not 3}}
gpu.tcgen05_st %w, %w, %w, %w : i32, i32, i32

// -----


// expected-error@+1 {{tcgen05 waits for ld or st, not for 'mma'}}
gpu.tcgen05_wait {kind = "mma"} : ->

// -----

%w = "test.op"() : () -> i32
// expected-error@+1 {{what a load gave passes through its wait, and through nothing else}}
%v = gpu.tcgen05_wait %w {kind = "st"} : i32 -> i32

// -----


// expected-error@+1 {{a fence of tcgen05 stands before or after a meeting, not 'between'}}
gpu.tcgen05_fence {kind = "between"}
