#!/bin/sh
# Puts an ext4 file system on what an NBD server serves, runs a command in it and takes it off again, checked.
# Usage: on-ext4.sh URI COMMAND [ARGUMENT...]
# Needs root, nbdfuse (libnbd) and FUSE, and no NBD module of the kernel's. A file system that is there is used.
set -eu
uri=$1
shift
command=$(readlink -f "$(command -v "$1")")
shift
folder=$(mktemp -d)
mkdir "$folder/drive" "$folder/files"
nbdfuse "$folder/drive" "$uri" &
loop=
clean_up() {
  if [ -n "$loop" ]; then
    umount "$folder/files" 2>/dev/null || true
    losetup --detach "$loop"
  fi
  fusermount3 -u "$folder/drive" || true
  wait
  rmdir "$folder/drive" "$folder/files" "$folder"
}
trap clean_up EXIT
while [ ! -s "$folder/drive/nbd" ]; do sleep 0.1; done
loop=$(losetup --find --show "$folder/drive/nbd")
blkid "$loop" >/dev/null || mkfs.ext4 -q "$loop"
mount -o discard "$loop" "$folder/files"
(cd "$folder/files" && "$command" "$@")
umount "$folder/files"
fsck.ext4 -f -n "$loop"
