// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of packed fragments refuse.

%a = "test.op"() : () -> vector<4xi8>
// expected-error@+1 {{vector<4xi8> holds 8 values, the result is vector<4xf16>}}
%b = simt.fragment_unpack %a {format = "i4"} : vector<4xi8> -> vector<4xf16>

// -----

%a = "test.op"() : () -> vector<4xf16>
// expected-error@+1 {{vector<4xi8> holds 8 values, the source is vector<4xf16>}}
%b = simt.fragment_pack %a {format = "f4e2m1fn"} : vector<4xf16> -> vector<4xi8>

// -----

%a = "test.op"() : () -> vector<4xi8>
// expected-error@+1 {{format is a string}}
%b = simt.fragment_unpack %a {format = 4 : i64} : vector<4xi8> -> vector<8xf16>
