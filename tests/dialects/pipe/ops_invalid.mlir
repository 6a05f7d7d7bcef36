// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of the pipe dialect refuse.

// expected-error@+1 {{a slot's tile has 2097152 elements, more than 1048576}}
%c = pipe.channel : !pipe.channel<2, !tile.buffer<2048x1024xf16>>

// -----

// expected-error@+1 {{f32 should be of base attribute pipe.channel}}
%c = pipe.channel : f32

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the channel has no member 2}}
pipe.copy %v[%i, %i], %c[%i] {member = 2} : !tile.view<?x?xf16, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the channel has no member -1}}
pipe.copy %v[%i, %i], %c[%i] {member = -1} : !tile.view<?x?xf16, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a tile of f32 from an array of f16}}
pipe.copy %v[%i, %i], %c[%i] {member = 1} : !tile.view<?x?xf16, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?xf16, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{offsets, array and tile differ in rank}}
pipe.copy %v[%i], %c[%i] {member = 0} : !tile.view<?xf16, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{offsets, array and tile differ in rank}}
pipe.copy %v[%i], %c[%i] {member = 0} : !tile.view<?x?xf16, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the padding is of f16, the elements are f32}}
pipe.copy %v[%i], %c[%i] {member = 1, padding = 0.0 : f16} : !tile.view<?xf32, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the bounds name axis 3 of an array of rank 1}}
pipe.copy %v[%i], %c[%i] {member = 1, bounds = #tile.bounds<checked [3]>} : !tile.view<?xf32, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{vector counts elements by a power of two, not -2}}
pipe.copy %v[%i], %c[%i] {member = 1, vector = -2} : !tile.view<?xf32, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?xf32, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{member is an integer Underlying verification failure: "last" should be of base attribute integer}}
pipe.copy %v[%i], %c[%i] {member = "last"} : !tile.view<?xf32, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the results are not the channel's tiles}}
%a = pipe.wait %c[%i] {pending = 0} : !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>> -> !tile.buffer<8x8xf16>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%i = "test.op"() : () -> i64
// expected-error@+1 {{the results are not the channel's tiles}}
%a, %b = pipe.wait %c[%i] {pending = 0} : !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>> -> !tile.buffer<8xf32>, !tile.buffer<8x8xf16>

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%i = "test.op"() : () -> i64
// expected-error@+1 {{pending counts groups, it is not -1}}
%a, %b = pipe.wait %c[%i] {pending = -1} : !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>> -> !tile.buffer<8x8xf16>, !tile.buffer<8xf32>

// -----

%c = "test.op"() : () -> f32
%i = "test.op"() : () -> i64
// expected-error@+1 {{f32 should be of base attribute pipe.channel}}
pipe.acquire %c[%i] : f32

// -----

// expected-error@+1 {{consumers are 1 to 7 whole warpgroups of 4 warps, not 6 warps}}
pipe.roles {warps = 6, consumer_registers = 232, producer_registers = 40, blocks = 1} consumers {
  pipe.end_role
} producer {
  pipe.end_role
}

// -----

// expected-error@+1 {{a role ends with pipe.end_role}}
pipe.roles {warps = 4, consumer_registers = 232, producer_registers = 40, blocks = 1} consumers {
  "test.termop"() : () -> ()
} producer {
  pipe.end_role
}

// -----

%c = "test.op"() : () -> !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
%v = "test.op"() : () -> !tile.view<?x?xf16, shared>
%i = "test.op"() : () -> i64
// expected-error@+1 {{a copy is made in 2 parts or more, not 1}}
pipe.copy %v[%i, %i], %c[%i] {member = 0, parts = 1} : !tile.view<?x?xf16, shared>, !pipe.channel<2, !tile.buffer<8x8xf16>, !tile.buffer<8xf32>>
