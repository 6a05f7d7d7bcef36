// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: simt.kernel @packed
simt.kernel @packed(%s: i8) {
  %a = simt.splat %s : i8 -> vector<4xi8>
  // CHECK: %u = simt.fragment_unpack %a {format = "f4e2m1fn"} : vector<4xi8> -> vector<8xf16>
  // GENERIC: %u = "simt.fragment_unpack"(%a) <{format = "f4e2m1fn"}> : (vector<4xi8>) -> vector<8xf16>
  %u = simt.fragment_unpack %a {format = "f4e2m1fn"} : vector<4xi8> -> vector<8xf16>
  // CHECK-NEXT: %p = simt.fragment_pack %u {format = "f4e2m1fn"} : vector<8xf16> -> vector<4xi8>
  // GENERIC: %p = "simt.fragment_pack"(%u) <{format = "f4e2m1fn"}> : (vector<8xf16>) -> vector<4xi8>
  %p = simt.fragment_pack %u {format = "f4e2m1fn"} : vector<8xf16> -> vector<4xi8>
  simt.return
}
