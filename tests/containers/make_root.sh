#!/bin/sh
# Makes a Debian 12 root file system with what Caisson needs at run time, for containers:
# make_root.sh FOLDER [PACKAGES] PACKAGES is a list with commas; an empty one gives a minimal
# Debian. Does nothing if it is there already. Needs root and debootstrap.
set -eu
root=$1
packages=${2-ca-certificates,libexpat1,libpq5,libpython3.11,libre2-9,libsqlite3-0,libssl3,python3-matplotlib,python3-numpy,python3-pandas,python3.11}
[ ! -e "$root/.complete" ] || exit 0
rm -rf "$root"
mirror=$(sed -n 's/^URIs: *\([^ ]*\/debian\)\/* *$/\1/p; s/^deb  *\(\[[^]]*\] *\)*\([^ ]*\/debian\)\/*  *bookworm .*/\2/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
mkdir -p "$root"
debootstrap --variant=minbase ${packages:+"--include=$packages"} bookworm "$root" ${mirror:+"$mirror"}
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
touch "$root/.complete"
