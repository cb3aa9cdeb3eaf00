use pretty_assertions::assert_eq;

use super::*;
use crate::shell_split::split;

fn words(command: &str) -> Vec<Word> {
    split(command).commands.remove(0).words
}

#[test]
fn the_launched_command_is_found() {
    for (command, inner) in [
        ("nohup rm x", Some("rm x")),
        ("timeout -k 5 -s KILL 10 rm x", Some("rm x")),
        ("nice -n 5 rm x", Some("rm x")),
        ("env rm x", Some("rm x")),
        ("/usr/bin/env -- rm x", Some("rm x")),
        ("command rm x", Some("rm x")),
        ("git -C dir --no-pager push -f", Some("git push -f")),
        ("git push", None),
        ("rm x", None),
        ("time -p rm x", Some("rm x")),
        ("timeout 5", None),
    ] {
        assert_eq!(launched(&words(command)), Ok(inner.map(words)), "{command}");
    }
}

#[test]
fn other_launchers_are_unclear() {
    for command in [
        "xargs rm",
        "sudo rm x",
        "bash -c 'rm x'",
        "/bin/sh x",
        "ssh host rm x",
        "env A=1 rm x",
        "env -S 'rm x'",
        "command -v rm",
        "eval rm x",
        "env 'A-B=1' rm x",
        ". ./x",
    ] {
        assert!(launched(&words(command)).is_err(), "{command}");
    }
}

#[test]
fn arguments_that_run_commands_are_found() {
    for command in [
        "find . -exec rm {} \\;",
        "find . -delete",
        "find . *",
        "/usr/bin/find . -okdir rm",
        "fd -xrm",
        "fd --exec-b rm",
        "go test -exec=rm ./...",
        "go test -exec rm ./...",
        "go test --exec=rm ./...",
        "rg --pre rm x",
        "tar --to-command=rm xf a",
        "tar --to-com rm xf a",
        "tar -xIrm -f a",
        "tar cIf rm a",
        "tar cf a *",
        "rsync -essh a b",
        "sort -ofile a",
        "sort --outp=file a",
        "sed -i.bak s/a/b/ x",
        "sed -ni s/a/b/p x",
        "sed --in-pl s/a/b/ x",
        "sed 's/a/b/e' x",
        "sed '1e rm x' y",
        "sed 's/a/b/w file' x",
        "sed -n 'w file' x",
        "sed -e p -e 'r x' y",
        "sed -f script x",
        "awk 'BEGIN{system(\"rm x\")}'",
        "awk '{print | \"sh\"}' x",
        "awk '{print > \"file\"}' x",
        "awk -f script x",
        "python -c 'code'",
        "python3.12 -Ic 'code'",
        "python3",
        "python3 -",
        "perl -ne 'code' x",
        "ruby -e code",
        "node --eval=code",
        "node -p code",
        "php -r code",
        "printf -v 'a[$(rm x)]' y",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[`rm x`]' ]",
        "hash -p /bin/rm ls",
        "enable -f ./x.so y",
        "jobs -x rm x",
        "mapfile -C 'rm x' -c 1 a",
        "git -c core.pager=x log",
        "git --exec-path=. log",
        "git --git-dir=x log",
        "git grep --open-files-in-pag=rm x",
        "git grep -Orm x",
        "git rebase -x 'rm x' main",
        "git rebase --exec 'rm x' main",
        "git bisect run rm x",
        "git submodule foreach 'rm x'",
        "git clone -c core.fsmonitor=x a",
        "git clone 'ext::sh -c x'",
        "git fetch --upload-p=x a",
        "git config alias.x '!rm x'",
        "git config set core.pager 'rm x'",
        "git config --global core.sshCommand x",
        "git config --file x user.name y",
        "git diff --ext-diff",
        "git difftool",
        "git $X",
        "git config --comment user.x core.pager 'rm x'",
        "git config core.pager -- '--get; rm x'",
        "git config --fil=x user.name y",
        "git config -fx user.name y",
        "git config --type user.x core.pager y",
        "git config set --comment user.x core.pager y",
        "git archive --remote='ext::sh -c x' HEAD",
        "git archive -o ~/.bashrc HEAD",
        "python3 -X dev -c 'code'",
        "python3 -W ignore -c 'code'",
        "python3 -X dev",
        "python3 -u",
        "perl -I lib -e 'code'",
        "ruby -r set -e code",
        "node --require x.js -e code",
        "node -r x.js -p code",
        "php -d a=b -r code",
        "awk 'BEGIN{f=\"x\"; print 1 > f}'",
        "awk 'BEGIN{f=\"sys\" \"tem\"; @f(\"rm x\")}'",
        "awk -fscript x",
        "awk --file=script x",
        "gawk -e 'code' x",
        "gawk -o/tmp/x '{print}'",
        "gawk --dump-variables=x '{print}'",
        "uniq a ~/.bashrc",
        "xxd -r a b",
        "shuf -o file a",
        "fzf --preview 'rm x'",
        "less -ofile a",
        "less '+!rm x' a",
        "vim +'!rm x' a",
        "split --filter='rm x' a",
        "split --filt 'rm x' a",
        "tar --rmt-command=rm -cf h:x a",
        "make 'x=$(shell rm x)'",
        "make SHELL=./x",
        "make -E x",
        "curl -fsSLo ~/.bashrc a",
        "curl --output ~/.bashrc a",
        "curl -K x",
        "wget -O ~/.bashrc a",
        "wget --use-askpass=rm a",
        "gcc -wrapper rm x.c",
        "gcc -fplugin=./x.so x.c",
        "openssl req -engine ./x.so",
        "tcpdump -r a -z rm",
        "perl '-Mstrict;x' a",
        "python3 -m timeit 'code'",
        "python3 -m pdb -c code a",
        "python3 /dev/fd/0",
        "node --import=data:text/javascript,code a",
        "node --import data:text/javascript,code a",
        "sqlite3 a '.shell rm'",
        "sqlite3 a 'select 1;\n.sh rm'",
        "sqlite3 a \"select writefile('x', 'y')\"",
        "psql -c '\\! rm'",
        "psql -c \"copy a to program 'rm'\"",
        "mysql -e 'system rm'",
        "git credential fill",
        "git maintenance start",
        "git fast-export --export-marks=x HEAD",
        "git format-patch --output-directory=/ HEAD",
        "gh alias set x '!rm'",
        "go env -w CC=x",
        "go build -ldflags=-extld=rm",
        "history -w x",
    ] {
        assert!(has_launching_argument(&words(command)), "{command}");
    }
}

#[test]
fn usual_arguments_run_nothing() {
    for command in [
        "find . -name x",
        "find . -name '*.rs'",
        "go test ./...",
        "tar xf a",
        "tar -czvf a.tar.gz dir",
        "sort -k2,2 -n a",
        "sort -- *",
        "rg --pretty x src",
        "sed -n '1,20p' x",
        "sed -n '/fn a/,/^}/p' x",
        "sed 's/a/b/g; s|c|d|2' x",
        "sed -e '$d' -e '/x/!d' y",
        "awk '{print $1}' x",
        "awk -F: '$3 > 5 || $4 {print $1}' x",
        "python3 script.py -c x",
        "python3 -m pytest -e x",
        "python3 --version",
        "node script.js -e",
        "perl script.pl",
        "test -f x",
        "[ -f 'a[1]' ]",
        "printf '%s' x",
        "set -euo pipefail",
        "git log --oneline",
        "git -C dir --no-pager diff",
        "git switch -c branch",
        "git clean -xn",
        "git commit -m 'a; rm x'",
        "git config user.name",
        "git config user.name x",
        "git config --global user.email x",
        "git config --get core.pager",
        "git config list",
        "git config --local --add user.name x",
        "git config --unset user.name",
        "git config -- user.name x",
        "git archive HEAD",
        "python3 -X dev script.py -c x",
        "python3 -m pytest -c setup.cfg",
        "node --require x.js script.js -e",
        "awk -v a=b -F : '$1 > 5 {print a}' x",
        "awk -- '{print $1}' x",
        "uniq -c -f 1 a",
        "xxd -l 16 a",
        "xxd a",
        "less +10 a",
        "vim +10,20 a",
        "split -l 10 a",
        "make -j4 test CC=gcc",
        "curl -fsS https://example.com/data.json",
        "wget -q https://example.com",
        "gcc -O2 -DBUILD -o a a.c",
        "openssl version",
        "python3 -m pytest tests",
        "node --import ./x.js a.js",
        "sqlite3 a .tables",
        "sqlite3 a 'select * from b'",
        "psql -c 'select 1'",
        "gh pr list",
        "go env GOPATH",
    ] {
        assert!(!has_launching_argument(&words(command)), "{command}");
    }
}

#[test]
fn commands_behind_options_and_in_scripts_are_reachable() {
    for command in [
        "nohup rm x",
        "timeout --foreground -k 5 10 rm x",
        "time -f %e rm x",
        "env -i A=1 'B-C=2' rm x",
        "env -S 'rm x'",
        "exec -a name rm x",
        "command -p rm x",
        "nice -n5 rm x",
        "sudo -u root -E A=1 rm x",
        "sudo -- rm x",
        "sudo env nohup rm x",
        "doas rm x",
        "xargs -0 -n 1 rm x",
        "xargs -I{} sh -c 'rm x'",
        "find . -name y -exec rm x ';'",
        "find . -execdir rm x +",
        "fd y -x rm x",
        "bash -c 'rm x'",
        "bash -lc 'cd a && rm x'",
        "/bin/sh -ec \"rm x\"",
        "sh -c \"sh -c 'rm x'\"",
        "eval rm x",
        "eval 'true; ' 'rm x'",
        "trap 'rm x' EXIT",
        "ssh -p 22 host rm x",
        "ssh host 'ls; rm x'",
        "su user -c 'rm x'",
        "watch -n 1 rm x",
        "watch 'rm x'",
        "flock -w 5 lock rm x",
        "chroot / rm x",
        "taskset -c 0 rm x",
        "strace -f -o log rm x",
        "stdbuf -o0 rm x",
        "busybox rm x",
        "systemd-run --user rm x",
        "script -qc 'rm x' /dev/null",
        "parallel 'rm x' ::: a",
        "unshare -r rm x",
        "git bisect run rm x",
        "git submodule foreach 'rm x'",
        "git -c alias.y='!rm x' y",
        "git rebase -x 'rm x' main",
        "git rebase --exec='rm x' main",
        "tar --to-command='rm x' -xf a",
        "go test -exec 'rm x' ./...",
        "npm exec rm x",
        "uv run rm x",
        "poetry run rm x",
    ] {
        let reachable = reachable(&words(command));
        assert!(
            reachable.contains(&words("rm x")),
            "{command}: {reachable:?}"
        );
    }
    for command in [
        "git commit -m 'a; rm x'",
        "echo 'a; rm x'",
        "sudo grep rm x",
        "xargs -n 1 grep rm x",
        "git switch -c rm x",
    ] {
        let reachable = reachable(&words(command));
        assert!(
            !reachable.contains(&words("rm x")),
            "{command}: {reachable:?}"
        );
    }
}

#[test]
fn scripts_in_scripts_end() {
    let mut command = "rm x".to_owned();
    for _ in 0..12 {
        command = format!("sh -c {}", shell_quoted(&command));
    }
    assert!(reachable(&words(&command)).len() <= MAX_REACHABLE);
    let many = format!("eval {}", "'eval a; b' ".repeat(1000));
    assert!(reachable(&words(&many)).len() <= MAX_REACHABLE);
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
