fail() {
    printf 'pi-pods:error:%s\n' "$*"
    exit 1
}

report() {
    printf 'pi-pods:%s:%s\n' "$1" "$2"
}

# The tools of the pod: those that setup installed come first.
use_tools() {
    state="$HOME/.pi-pods"
    export PATH="$state/venv/bin:$HOME/.local/bin:$PATH"
}

# Whether a process is the runner of a model.
is_runner() {
    [ -r "/proc/$1/cmdline" ] && tr '\0' '\n' <"/proc/$1/cmdline" | grep -Fxq "pi-pods:$2"
}
