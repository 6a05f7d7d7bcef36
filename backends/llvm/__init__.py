"""SIMT programs to LLVM IR text: what all targets share. A target supplies a `TargetBackend` (see `emitter`)."""
