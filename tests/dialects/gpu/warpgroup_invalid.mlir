// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of products of a warpgroup refuse.

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{wgmma does not multiply f16 by bf16}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "bf16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{operand b of bf16 is a matrix of bf16 in shared memory, not !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "bf16", b_type = "bf16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<64x128xi8, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> i32
// expected-error@+1 {{operand b lies K-major unless its elements have 16 bits}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "i8", b_type = "i8", trans_b} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<64x128xi8, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [i32, i32, i32, i32] -> i32, i32, i32, i32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16>
%f = "test.op"() : () -> f32
// expected-error@+1 {{no descriptor tells the layout of !tile.buffer<8x64xf16>: it needs rows of one swizzle's width}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{operand b has K = 8, no multiple of the 16 of one instruction}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16", trans_b} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<12x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{operand b has an extent of 12, which cuts the layout's groups of rows}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<12x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<264x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{wgmma has no N = 264: multiples of 8 up to 256, of integers of 16 from 32 on}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<264x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{operand a is 64 x 64, in shared memory or in registers}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<128x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%w = "test.op"() : () -> i32
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{operand a of 64 x 64 is 16 words in each thread}}
%r:4 = gpu.wgmma_words [%w], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : [i32], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32, f32, f32] -> f32, f32, f32, f32

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f64
// expected-error@+1 {{an accumulator's words are all f32 or all i32, and its results the same}}
%r:4 = gpu.wgmma_words shared %a [], %b, [%f, %f, %f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f64, f64, f64, f64] -> f64, f64, f64, f64

// -----

%a = "test.op"() : () -> !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%b = "test.op"() : () -> !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
%f = "test.op"() : () -> f32
// expected-error@+1 {{the accumulator of 64 x 8 is 4 words of f32 in each thread}}
%r:2 = gpu.wgmma_words shared %a [], %b, [%f, %f] {a_type = "f16", b_type = "f16"} : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [], !tile.buffer<8x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, [f32, f32] -> f32, f32

// -----

%f = "test.op"() : () -> f32
// expected-error@+1 {{pending counts groups, it is not -1}}
%r = gpu.wgmma_wait_words %f {pending = -1} : f32 -> f32

// -----

simt.kernel @k(%f: f32) attributes {simt.threads = 96} {
// expected-error@+1 {{gpu.wgmma_wait_words is done by whole warpgroups of 128 threads, and the block has 96}}
%r = gpu.wgmma_wait_words %f {pending = 0} : f32 -> f32
simt.return
}
