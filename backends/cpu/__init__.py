"""The CPU target: the same SIMT programs as run on a GPU, each thread a loop iteration or a coroutine."""
