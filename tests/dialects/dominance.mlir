// RUN: tileopt %s --verify-diagnostics --split-input-file

// A loop's body sees what is defined before the loop, its own arguments, and what its own block defined earlier.
func.func @visible(%n: index, %x: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (i32) {
    %t = arith.addi %acc, %x : i32
    scf.yield %t : i32
  }
  %w = scf.while (%a = %r) : (i32) -> i32 {
    %go = arith.cmpi slt, %a, %x : i32
    scf.condition(%go) %a : i32
  } do {
  ^bb0(%b: i32):
    %d = arith.addi %b, %r : i32
    scf.yield %d : i32
  }
  func.return %w : i32
}

// -----

func.func @later(%x: i32) {
  // expected-error@+1 {{operand #1 (%b) of 'arith.addi' does not dominate this use}}
  %a = arith.addi %x, %b : i32
  // expected-note@+1 {{defined here, by 'arith.muli'}}
  %b = arith.muli %x, %x : i32
  func.return
}

// -----

func.func @itself(%x: i32) {
  // expected-error@+2 {{operand #1 (%a) of 'arith.addi' does not dominate this use}}
  // expected-note@+1 {{defined here}}
  %a = arith.addi %x, %a : i32
  func.return
}

// -----

func.func @inside_of_itself(%c: i1) {
  // expected-note@+1 {{defined here, by 'scf.if'}}
  %a = scf.if %c -> (i32) {
    // expected-error@+1 {{is used inside of the op that defines it}}
    scf.yield %a : i32
  } else {
    %one = arith.constant 1 : i32
    scf.yield %one : i32
  }
  func.return
}

// -----

func.func @one_way(%c: i1) {
  cf.cond_br %c, ^left, ^join
^left:
  // expected-note@+1 {{defined here}}
  %a = arith.constant 1 : i32
  cf.br ^join
^join:
  // expected-error@+1 {{operand #0 (%a) of 'test.op' does not dominate this use}}
  "test.op"(%a) : (i32) -> ()
  func.return
}

// -----

// The blocks of a loop in a graph of blocks: the header dominates body and exit, and a block after its use in the text
// may dominate it.
func.func @graph(%c: i1) {
  cf.br ^second
^first:
  "test.op"(%a) : (i32) -> ()
  cf.cond_br %c, ^second, ^exit
^second:
  %a = arith.constant 1 : i32
  cf.cond_br %c, ^first, ^exit
^exit:
  "test.op"(%a) : (i32) -> ()
  func.return
}

// -----

// What cannot be reached is held to no order.
func.func @unreachable() {
  func.return
^dead:
  %a = arith.addi %b, %b : i32
  %b = arith.addi %a, %a : i32
  cf.br ^dead
}

// -----

// A module is a graph region.
%a = "test.op"(%b) : (i32) -> i32
%b = "test.op"(%a) : (i32) -> i32

// -----

func.func @sibling_regions(%c: i1) {
  scf.if %c {
    // expected-error@+1 {{operand #0 (%a) of 'test.op' is defined in a region that does not enclose this use}}
    "test.op"(%a) : (i32) -> ()
  } else {
    // expected-note@+1 {{defined here}}
    %a = arith.constant 1 : i32
  }
  func.return
}

// -----

// A function sees nothing of what is around it.
%a = arith.constant 1 : i32
// expected-error@+1 {{[verify/func.func]}}
func.func @isolated() {
  "test.op"(%a) : (i32) -> ()
  func.return
}
