// RUN: tileopt %s -p fold-layouts --split-input-file | filecheck %s

// Coordinates are made again in the layout that is asked for; loaded data has to move.
// CHECK-LABEL: tile.kernel @again
// CHECK-NOT:     tile.convert_layout
// CHECK:         [[A:%.+]] = tile.arange : tensor<128xi32, #tile.layout<regs = [], lanes = {{\[\[1\], \[2\], \[4\], \[8\], \[16\]\]}}, warps = {{\[\[32\], \[64\]\]}}>>
// CHECK-NEXT:    arith.addi [[A]], [[A]]
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.store
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @again(%o: !tile.view<?xi32, owned>) {
    %c0 = arith.constant 0 : i64
    %a = tile.arange : tensor<128xi32, #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [32], [64]], warps = [[0], [0]]>>
    %b = arith.addi %a, %a : tensor<128xi32, #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [32], [64]], warps = [[0], [0]]>>
    %c = tile.convert_layout %b : tensor<128xi32, #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [32], [64]], warps = [[0], [0]]>> -> tensor<128xi32, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32], [64]]>>
    tile.store %c, %o[%c0] : tensor<128xi32, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32], [64]]>>, !tile.view<?xi32, owned>
    tile.return
  }
}

// -----

// CHECK-LABEL: tile.kernel @moves
// CHECK:         [[T:%.+]] = tile.load
// CHECK-NEXT:    tile.convert_layout [[T]]
// CHECK-NOT:     tile.convert_layout
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @moves(%x: !tile.view<?xi32, shared>, %o: !tile.view<?xi32, owned>) {
    %c0 = arith.constant 0 : i64
    %a = tile.load %x[%c0] : !tile.view<?xi32, shared> -> tensor<128xi32, #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [32], [64]], warps = [[0], [0]]>>
    %b = tile.convert_layout %a : tensor<128xi32, #tile.layout<regs = [[1], [2]], lanes = [[4], [8], [16], [32], [64]], warps = [[0], [0]]>> -> tensor<128xi32, #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = [[64], [0]]>>
    %c = tile.convert_layout %b : tensor<128xi32, #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = [[64], [0]]>> -> tensor<128xi32, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32], [64]]>>
    tile.store %c, %o[%c0] : tensor<128xi32, #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = [[32], [64]]>>, !tile.view<?xi32, owned>
    tile.return
  }
}
