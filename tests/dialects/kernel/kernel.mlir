// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @nothing() {
// CHECK-NEXT: tile.return
// GENERIC: "tile.kernel"() <{sym_name = "nothing", function_type = () -> ()}> ({
// GENERIC-NEXT: "tile.return"() : () -> ()
// GENERIC-NEXT: }) : () -> ()
tile.kernel @nothing() {
  tile.return
}

// CHECK-LABEL: tile.kernel @arguments(%x: !tile.view<?x?xf32, shared> {tile.name = "x", tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 16], stride = [16, 1], small>}, %n: i64 {tile.name = "n", tile.divisor = 8 : i64}, %flag: i1, %a: bf16) attributes {tile.num_warps = 8 : i64, tile.num_stages = 3 : i64, tile.fma = false, tile.fast_math} {
// GENERIC: "tile.kernel"() <{sym_name = "arguments", function_type = (!tile.view<?x?xf32, shared>, i64, i1, bf16) -> (), arg_attrs = [{tile.name = "x", tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 16], stride = [16, 1], small>}, {tile.name = "n", tile.divisor = 8 : i64}, {}, {}]}> ({
// GENERIC-NEXT: ^bb0(%x: !tile.view<?x?xf32, shared>, %n: i64, %flag: i1, %a: bf16):
// GENERIC: }) {tile.num_warps = 8 : i64, tile.num_stages = 3 : i64, tile.fma = false, tile.fast_math} : () -> ()
tile.kernel @arguments(
  %x: !tile.view<?x?xf32, shared> {tile.name = "x", tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 16], stride = [16, 1], small>},
  %n: i64 {tile.name = "n", tile.divisor = 8 : i64}, %flag: i1, %a: bf16
) attributes {tile.num_warps = 8 : i64, tile.num_stages = 3 : i64, tile.fma = false, tile.fast_math} {
  tile.return
}

// CHECK-LABEL: simt.kernel @threads(%x: !tile.view<?xi8, owned>, %a: f64) attributes {simt.threads = 96 : i64, simt.shared_bytes = 49152 : i64} {
// CHECK-NEXT: simt.return
// GENERIC: "simt.kernel"() <{sym_name = "threads", function_type = (!tile.view<?xi8, owned>, f64) -> ()}> ({
// GENERIC: "simt.return"() : () -> ()
simt.kernel @threads(%x: !tile.view<?xi8, owned>, %a: f64) attributes {simt.threads = 96 : i64, simt.shared_bytes = 49152 : i64} {
  simt.return
}

// Names are Python's, which may hold any letter.
// CHECK-LABEL: tile.kernel @"gr\C3\B6\C3\9Fe"(%n: i64 {tile.name = "gr\C3\B6\C3\9Fe"}) {
tile.kernel @"größe"(%n: i64 {tile.name = "größe"}) {
  tile.return
}
