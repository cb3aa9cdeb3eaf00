#!/bin/sh
# Installs pi: downloads the binary for this machine, verifies it, and moves it into place. Needs no root.
#
#   curl -fsSL RELEASES/latest/download/install.sh | sh
#   curl -fsSL RELEASES/latest/download/install.sh | sh -s -- --version 1.5.0-rs.1
#
# The signature of the release covers the checksum of the binary. Nothing is installed unless both are valid.

set -eu

# Filled in by `cargo xtask release`.
RELEASES=${PI_RELEASES:-'@RELEASES@'}
PUBLIC_KEY='@PUBLIC_KEY@'
SSH_KEY='@SSH_KEY@'

usage() {
    cat <<'END'
Install pi.

Usage: install.sh [--to DIR] [--version VERSION] [--allow-downgrade]

  --to DIR           Directory for the binary (default: ~/.local/bin)
  --version VERSION  Install this release instead of the latest, such as 1.5.0-rs.1
  --allow-downgrade  Replace a newer pi
  --help             Show this help

Environment:
  PI_INSTALL_DIR     Same as --to
  PI_RELEASES        Address of a mirror of the releases
END
}

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf 'hint: %s\n' "$hint" >&2; done
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# download ADDRESS FILE
download() {
    if has curl; then
        curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --output "$2" "$1"
    elif has wget; then
        wget -q -O "$2" "$1"
    else
        fail 'cannot download: neither curl nor wget is installed' 'install one of them'
    fi || fail "cannot download $1" 'check the network, or set PI_RELEASES to a mirror'
}

# Prints the name of this platform in the list of a release.
platform() {
    system=$(uname -s)
    machine=$(uname -m)
    case $machine in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "no pi for this processor: $machine" 'build it from source: cargo build --release --package pi' ;;
    esac
    case $system in
        Linux)
            if has_recent_glibc; then
                printf 'linux-%s\n' "$machine"
            else
                printf 'linux-%s-musl\n' "$machine"
            fi
            ;;
        Darwin)
            # A shell that runs translated reports the wrong processor.
            if [ "$machine" = x86_64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
                machine=aarch64
            fi
            printf 'macos-%s\n' "$machine"
            ;;
        *) fail "no pi for this system: $system" 'on Windows, run this in WSL, or download the archive from the release page' ;;
    esac
}

# The binary needs glibc 2.36; the one linked with musl runs on any Linux.
has_recent_glibc() {
    version=$(getconf GNU_LIBC_VERSION 2>/dev/null) || return 1
    version=${version#glibc }
    major=${version%%.*}
    minor=${version#*.}
    minor=${minor%%.*}
    [ "$major" -gt 2 ] || { [ "$major" -eq 2 ] && [ "$minor" -ge 36 ]; }
}

# verify_signature FILE SIGNATURE SSH_SIGNATURE
verify_signature() {
    if has openssl && openssl pkeyutl -help 2>&1 | grep -q rawin; then
        printf -- '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA%s\n-----END PUBLIC KEY-----\n' "$PUBLIC_KEY" >"$work/key.pem"
        openssl base64 -d -A -in "$2" -out "$work/signature"
        openssl pkeyutl -verify -pubin -inkey "$work/key.pem" -rawin -in "$1" -sigfile "$work/signature" >/dev/null 2>&1
    elif has ssh-keygen; then
        printf 'pi %s\n' "$SSH_KEY" >"$work/signers"
        ssh-keygen -Y verify -f "$work/signers" -I pi -n pi-release -s "$3" <"$1" >/dev/null 2>&1
    else
        fail 'cannot verify the signature: neither openssl 3 nor ssh-keygen is installed' \
            'install openssl or openssh-client, then run this again'
    fi
}

# Prints the SHA-256 of a file.
checksum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    else
        openssl dgst -sha256 -r "$1"
    fi | cut -d ' ' -f 1
}

# is_older ONE OTHER: whether a version such as 1.5.0-rs.2 is older than another.
is_older() {
    one=$(printf '%s' "$1" | sed 's/[+-]rs\./.0./' | tr -c '0-9.' ' ')
    other=$(printf '%s' "$2" | sed 's/[+-]rs\./.0./' | tr -c '0-9.' ' ')
    awk -v one="$one" -v other="$other" 'BEGIN {
        split(one, a, "."); split(other, b, ".")
        for (i = 1; i <= 6; i++) if (a[i] + 0 != b[i] + 0) exit !(a[i] + 0 < b[i] + 0)
        exit 1
    }'
}

main() {
    directory=${PI_INSTALL_DIR:-}
    wanted=latest
    allow_downgrade=
    while [ $# -gt 0 ]; do
        case $1 in
            --to | --version)
                [ $# -ge 2 ] || fail "$1 needs a value" 'run install.sh --help for usage'
                if [ "$1" = --to ]; then directory=$2; else wanted=$2; fi
                shift
                ;;
            --allow-downgrade) allow_downgrade=yes ;;
            -h | --help)
                usage
                return
                ;;
            *) fail "unknown argument $1" 'run install.sh --help for usage' ;;
        esac
        shift
    done
    if [ -z "$directory" ]; then
        [ -n "${HOME:-}" ] || fail 'HOME is not set' 'choose a directory with --to'
        directory=$HOME/.local/bin
    fi
    case $directory in
        /*) ;;
        *) directory=$PWD/$directory ;;
    esac
    case $RELEASES in
        *://*) RELEASES=${RELEASES%/} ;;
        *) fail 'this script names no release page' 'download it from a release, or set PI_RELEASES' ;;
    esac
    case $wanted in
        latest) feed=$RELEASES/latest/download ;;
        *) feed=$RELEASES/download/v$(printf '%s' "${wanted#v}" | tr + -) ;;
    esac
    platform=$(platform)

    mkdir -p "$directory" || fail "cannot create $directory" 'choose another directory with --to'
    work=$(mktemp -d "$directory/.pi-install.XXXXXX") || fail "cannot write to $directory" 'choose another directory with --to'
    trap 'rm -rf "$work"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    for file in release.json release.json.sig release.json.sshsig; do
        download "$feed/$file" "$work/$file"
    done
    verify_signature "$work/release.json" "$work/release.json.sig" "$work/release.json.sshsig" ||
        fail 'the signature of the release is invalid; nothing was installed' 'download install.sh again, and report this if it persists'

    # The signed list has one line per platform.
    version=$(sed -n 's/^ *"version": "\([^"]*\)".*/\1/p' "$work/release.json")
    tag=v$(printf '%s' "$version" | tr + -)
    line=$(grep "^ *\"$platform\": " "$work/release.json") ||
        fail "release $version has no binary for $platform" 'build pi from source: cargo build --release --package pi'
    archive=$(printf '%s' "$line" | sed 's|.*"url": "[^"]*/\([^"/]*\)".*|\1|')
    expected=$(printf '%s' "$line" | sed 's/.*"sha256": "\([0-9a-f]*\)".*/\1/')
    [ "$wanted" = latest ] || [ "v$(printf '%s' "${wanted#v}" | tr + -)" = "$tag" ] ||
        fail "the server offers $version instead of $wanted; nothing was installed"
    if [ -x "$directory/pi" ] && [ -z "$allow_downgrade" ]; then
        installed=$("$directory/pi" --version --verbose 2>/dev/null | sed -n 's/^release //p') || installed=
        if [ -n "$installed" ] && is_older "$version" "$installed"; then
            fail "$directory/pi is newer ($installed) than this release ($version)" 'add --allow-downgrade to replace it'
        fi
    fi

    printf 'Downloading pi %s for %s\n' "$version" "$platform"
    download "$RELEASES/download/$tag/$archive" "$work/pi.tar.gz"
    [ "$(checksum "$work/pi.tar.gz")" = "$expected" ] ||
        fail "the checksum of $archive is wrong; nothing was installed" 'run this again; the download may be damaged'
    tar -xzf "$work/pi.tar.gz" -C "$work" || fail "cannot unpack $archive"
    binary=$(find "$work" -type f -name pi | head -n 1)
    [ -n "$binary" ] || fail "$archive contains no pi"
    chmod 755 "$binary"
    "$binary" --version >/dev/null 2>&1 || fail 'the downloaded pi does not run on this machine; nothing was installed'
    # The signed list names the version; archives of all releases have the same names.
    contained=$("$binary" --version --verbose 2>/dev/null | sed -n 's/^release //p')
    [ "$contained" = "$version" ] ||
        fail "$archive contains pi ${contained:-of an unknown version} instead of $version; nothing was installed" 'report this; the release is not what it claims to be'
    # A rename replaces the old binary completely or not; running processes keep theirs.
    mv -f "$binary" "$directory/pi"

    printf 'Installed %s\n' "$directory/pi"
    case :$PATH: in
        *:"$directory":*) ;;
        *) printf 'Add %s to your PATH to run it as pi.\n' "$directory" ;;
    esac
    # shellcheck disable=SC2016
    printf 'Run `pi --demo` to try it, or `pi docs quick-start`. Completions: `pi completions --help`.\n'
}

# Called at the end, so that an incomplete download of this script does nothing.
main "$@"
