"""Packs a folder as .tar.gz: sorted, without times and owners, so that equal contents give equal bytes on every system."""

import gzip
import pathlib
import sys
import tarfile


def plain(member: tarfile.TarInfo, is_program: bool) -> tarfile.TarInfo:
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mode = 0o755 if member.isdir() or is_program else 0o644
    return member


def main() -> None:
    folder, name, archive = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    with open(archive, "wb") as file, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        with tarfile.open(mode="w", fileobj=packed, format=tarfile.USTAR_FORMAT) as tar:
            for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
                inside = path.relative_to(folder)
                is_program = inside.parts[0] == "bin"
                tar.add(path, f"{name}/{inside.as_posix()}", recursive=False, filter=lambda member: plain(member, is_program))


main()
