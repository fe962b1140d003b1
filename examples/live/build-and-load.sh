#!/bin/sh
# Work for a drive, in the folder it is started in: a C project is built, copied three times as work trees are and built
# again; a database takes orders, each transaction made durable, and is backed up twice; all of it is read again.
set -eu
mkdir project
number=0
while [ $number -lt 30 ]; do
  for part in 0 1 2 3 4 5 6 7 8 9; do
    echo "int part${number}_$part(int x) { int sum = x; for (int i = 0; i < $part; i++) sum += i * $number; return sum; }"
  done > project/part$number.c
  number=$((number + 1))
done
echo 'int main(void) { return 0; }' > project/main.c
printf 'program: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\tcc -g -o $@ $^\n' > project/Makefile
make -s -C project CFLAGS=-g
sync
for tree in one two three; do
  cp -r project $tree
  touch $tree/part0.c
  make -s -C $tree CFLAGS=-g
  sync
done
python3 - <<'PYTHON'
import sqlite3

base = sqlite3.connect("orders.sqlite")
base.execute("PRAGMA synchronous = FULL")
base.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
for turn in range(100):
    with base:
        base.executemany("INSERT INTO orders (note) VALUES (?)", [(f"{turn}-{row} " + "x" * 200,) for row in range(50)])
        base.execute("UPDATE orders SET note = note || 'y' WHERE id = ?", (turn * 37,))
base.close()
PYTHON
for day in monday tuesday; do
  cp orders.sqlite orders.$day
  sync
done
# From the drive, not from the kernel's memory.
echo 3 > /proc/sys/vm/drop_caches
cat orders.* project/* one/* two/* three/* > /dev/null
