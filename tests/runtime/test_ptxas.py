"""Finding ptxas and libdevice, and what is made of ptxas' answers."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tileopt.backends.nvidia import ptxas
from tileopt.dialects.diagnostics import CompileError, TargetError

PTX = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    caches = (ptxas.candidates, ptxas.find_libdevice, ptxas.version)
    for found in caches:
        found.cache_clear()
    yield
    for found in caches:
        found.cache_clear()


def needs_ptxas() -> None:
    if not ptxas.candidates():
        pytest.skip("no ptxas on this machine")


def script(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_assembles(tmp_path: Path) -> None:
    needs_ptxas()
    found = ptxas.assemble(PTX, "sm_90a")
    assert found.cubin.startswith(b"\x7fELF")
    assert 0 < found.registers < 64
    assert found.report()["spill_stores"] == 0


def test_bad_ptx_is_a_compile_error_with_ptxas_words() -> None:
    needs_ptxas()
    with pytest.raises(CompileError) as error:
        ptxas.assemble(PTX.replace("st.global.u32", "st.global.u99"), "sm_90a")
    assert error.value.code == "ptxas/rejected"
    assert "line 12" in error.value.message
    assert ".u99" in error.value.message


def test_too_much_shared_memory_names_both_numbers() -> None:
    needs_ptxas()
    large = PTX.replace(".reg .b64", ".shared .b8 q[500000];\n .reg .b64").replace(
        "ret;", "st.shared.u32 [q], %r1; ret;"
    )
    with pytest.raises(CompileError, match=r"500000.*232448"):
        ptxas.assemble(large, "sm_90a")


def test_an_architecture_that_is_too_new() -> None:
    needs_ptxas()
    with pytest.raises(TargetError) as error:
        ptxas.assemble(PTX, "sm_999")
    assert error.value.code == "target/old-ptxas"


def test_an_old_ptxas_gives_way_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = script(
        tmp_path / "a",
        "ptxas",
        "echo \"ptxas fatal   : Value 'sm_90a' is not defined for option 'gpu-name'\" >&2; exit 255",
    )
    new = script(
        tmp_path / "b",
        "ptxas",
        'while [ "$1" != -o ]; do shift; done; printf cubin > "$2"; '
        "echo 'ptxas info    : Used 42 registers, used 1 barriers, 8 bytes smem' >&2; "
        "echo '    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads' >&2",
    )
    monkeypatch.setattr(ptxas, "candidates", lambda: (str(old), str(new)))
    found = ptxas.assemble(PTX, "sm_90a")
    assert (found.cubin, found.registers, found.shared_bytes, found.barriers) == (b"cubin", 42, 8, 1)
    assert (found.stack_bytes, found.spill_stores, found.spill_loads) == (16, 12, 20)
    monkeypatch.setattr(ptxas, "candidates", lambda: (str(old),))
    with pytest.raises(TargetError, match="too old"):
        ptxas.assemble(PTX, "sm_90a")


def test_a_ptxas_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = script(tmp_path, "ptxas", "kill -9 $$")
    monkeypatch.setattr(ptxas, "candidates", lambda: (str(dead),))
    with pytest.raises(CompileError, match="signal 9"):
        ptxas.assemble(PTX, "sm_90a")
    monkeypatch.setattr(ptxas, "candidates", lambda: (str(tmp_path / "gone"),))
    with pytest.raises(CompileError, match="gone"):
        ptxas.assemble(PTX, "sm_90a")


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = script(tmp_path / "given", "my-ptxas", "true")
    home = script(tmp_path / "home" / "bin", "ptxas", "true")
    path = script(tmp_path / "path", "ptxas", "true")
    wheel = script(tmp_path / "site" / "nvidia" / "cu13" / "bin", "ptxas", "true")
    libdevice = tmp_path / "site" / "nvidia" / "cu13" / "nvvm" / "libdevice" / "libdevice.10.bc"
    libdevice.parent.mkdir(parents=True)
    libdevice.write_bytes(b"BC")
    monkeypatch.setenv("TILEOPT_PTXAS", str(given))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    assert ptxas.candidates()[:4] == (str(given), str(path), str(home), str(wheel))
    assert ptxas.find_ptxas() == str(given)
    assert ptxas.find_libdevice() == str(libdevice)


def test_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEOPT_PTXAS", raising=False)
    monkeypatch.delenv("TILEOPT_LIBDEVICE", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(ptxas, "_toolkits", lambda: iter(()))
    with pytest.raises(TargetError, match="tileopt\\[cuda\\]"):
        ptxas.find_ptxas()
    with pytest.raises(TargetError, match="libdevice"):
        ptxas.find_libdevice()
    with pytest.raises(TargetError, match="no-ptxas"):
        ptxas.assemble(PTX, "sm_90a")
