//! Common toolchains work in a workspace, offline. Those that are not installed are skipped.

use crate::fixture::{Fixture, text, write};

struct Toolchain {
    /// Programs that must be there.
    programs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// Prints `built` at its end.
    script: &'static str,
}

const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        programs: &["make", "gcc"],
        files: &[
            (
                "main.c",
                "#include <stdio.h>\nint text(void);\nint main(void) { return text() < 0; }\n",
            ),
            (
                "text.c",
                "#include <stdio.h>\nint text(void) { return puts(\"built\"); }\n",
            ),
            ("Makefile", "all: main\n\t@./main\nmain: main.o text.o\n"),
        ],
        script: "make -s -j4",
    },
    Toolchain {
        programs: &["g++", "ar"],
        files: &[
            (
                "a.cc",
                "#include <string>\nstd::string text() { return \"built\"; }\n",
            ),
            (
                "b.cc",
                "#include <iostream>\nstd::string text();\nint main() { std::cout << text() << std::endl; }\n",
            ),
        ],
        script: "g++ -c a.cc && ar rcs liba.a a.o && g++ b.cc -L. -la -o b && strip b && ./b",
    },
    Toolchain {
        programs: &["cmake", "gcc"],
        files: &[
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.5)\nproject(p C)\nadd_executable(p p.c)\nenable_testing()\nadd_test(t p)\n",
            ),
            ("p.c", "int main(void) { return 0; }\n"),
        ],
        script: "cmake -S . -B out >/dev/null && cmake --build out >/dev/null && (cd out && ctest >/dev/null) && echo built",
    },
    Toolchain {
        programs: &["meson", "ninja", "gcc"],
        files: &[
            ("meson.build", "project('p', 'c')\nexecutable('p', 'p.c')\n"),
            ("p.c", "int main(void) { return 0; }\n"),
        ],
        script: "meson setup out >/dev/null && ninja -C out >/dev/null && out/p && echo built",
    },
    Toolchain {
        programs: &["go"],
        files: &[
            ("go.mod", "module example\n"),
            (
                "main.go",
                "package main\n\nfunc main() { println(\"built\") }\n",
            ),
            (
                "main_test.go",
                "package main\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {}\n",
            ),
        ],
        script: "export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local; go vet ./... && go test ./... >/dev/null && go run . 2>&1",
    },
    Toolchain {
        programs: &["rustc"],
        files: &[("main.rs", "fn main() { println!(\"built\"); }\n")],
        script: "rustc main.rs && ./main",
    },
    Toolchain {
        programs: &["node"],
        files: &[
            (
                "sum.test.js",
                "require('node:test')('sum', () => require('node:assert').equal(1 + 1, 2));\n",
            ),
            (
                "main.js",
                "const { Worker } = require('worker_threads');\n\
                 require('fs').mkdtempSync(require('os').tmpdir() + '/x');\n\
                 new Worker('require(\"child_process\").execFileSync(\"echo\", [\"built\"], { stdio: \"inherit\" })', { eval: true });\n",
            ),
        ],
        script: "node --test sum.test.js >/dev/null && node main.js",
    },
    Toolchain {
        programs: &["npm"],
        files: &[(
            "package.json",
            "{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{\"prebuild\":\"mkdir out\",\"build\":\"echo built > out/x\"}}",
        )],
        script: "export npm_config_cache=$TMPDIR/npm; npm run --silent build && npm pack --silent >/dev/null && cat out/x",
    },
    Toolchain {
        programs: &["pip", "python3"],
        files: &[
            ("wheel/p.py", "text = 'built'\n"),
            (
                "wheel/p-1.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: p\nVersion: 1\n",
            ),
            (
                "wheel/p-1.dist-info/WHEEL",
                "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            ),
            ("wheel/p-1.dist-info/RECORD", ""),
        ],
        script: "(cd wheel && python3 -m zipfile -c ../p-1-py3-none-any.whl p.py p-1.dist-info) && python3 -m venv venv && \
                 venv/bin/pip install -q --disable-pip-version-check --no-index ./p-1-py3-none-any.whl && \
                 venv/bin/python -c 'import p; print(p.text)'",
    },
    Toolchain {
        programs: &["python3"],
        files: &[(
            "main.py",
            "import multiprocessing, sqlite3, tempfile\n\
             def double(x): return 2 * x\n\
             if __name__ == '__main__':\n\
            \x20   sqlite3.connect('d.db').execute('create table t (x)')\n\
            \x20   with tempfile.NamedTemporaryFile(), multiprocessing.Pool(2) as pool:\n\
            \x20       print('built' if pool.map(double, [1, 2]) == [2, 4] else 'wrong')\n",
        )],
        script: "python3 -m compileall -q . && python3 main.py",
    },
    Toolchain {
        programs: &["javac", "java"],
        files: &[(
            "Main.java",
            "class Main { public static void main(String[] a) { System.out.println(\"built\"); } }\n",
        )],
        script: "javac -d out Main.java && java -cp out Main",
    },
    Toolchain {
        programs: &["mvn"],
        files: &[(
            "pom.xml",
            "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version>\
             <packaging>pom</packaging></project>\n",
        )],
        script: "mvn -o -q -Dmaven.repo.local=$TMPDIR/m2 validate >&2 && echo built",
    },
    Toolchain {
        programs: &["gradle"],
        files: &[("build.gradle", "task x { doLast { println 'built' } }\n")],
        script: "gradle -q --offline -g $TMPDIR/gradle x",
    },
    Toolchain {
        programs: &["perl"],
        files: &[],
        script: "perl -MFile::Temp=tempfile -e 'my ($f) = tempfile(); system(\"true\") == 0 and print \"built\\n\"'",
    },
    Toolchain {
        programs: &["ruby"],
        files: &[],
        script: "ruby -rtempfile -e 'Tempfile.create { puts `echo built` }'",
    },
    Toolchain {
        programs: &["php"],
        files: &[],
        script: "php -r 'tempnam(sys_get_temp_dir(), \"x\"); echo \"built\\n\";'",
    },
    Toolchain {
        programs: &["dotnet"],
        files: &[],
        script: "export DOTNET_CLI_HOME=$TMPDIR DOTNET_NOLOGO=1; dotnet new console -o app >/dev/null && dotnet run --project app >/dev/null && echo built",
    },
    Toolchain {
        programs: &["deno"],
        files: &[(
            "main.ts",
            "const text: string = 'built';\nconsole.log(text);\n",
        )],
        script: "DENO_DIR=$TMPDIR/deno deno run main.ts",
    },
    Toolchain {
        programs: &["sqlite3"],
        files: &[],
        script: "sqlite3 d.db \"create table t (x); insert into t values ('built'); select x from t\"",
    },
    Toolchain {
        programs: &["tar", "gzip", "xz", "zip", "unzip", "patch", "sed"],
        files: &[
            ("a", "one\n"),
            ("p.diff", "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n"),
        ],
        script: "patch -s a p.diff && tar czf a.tgz a && tar cJf a.txz a && zip -q a.zip a && rm a && tar xf a.txz && unzip -qo a.zip && \
                 sed -i s/two/built/ a && cat a",
    },
    Toolchain {
        programs: &["git", "ssh-keygen", "openssl"],
        files: &[],
        script: "openssl rand -hex 4 >/dev/null && ssh-keygen -q -t ed25519 -N '' -f key && git init -q $TMPDIR/r && cd $TMPDIR/r && \
                 git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m x && git worktree add -q ../w && \
                 git clone -q . ../c && git -C ../c log --format=tformat:built",
    },
    Toolchain {
        programs: &["valgrind", "gcc"],
        files: &[("p.c", "int main(void) { return 0; }\n")],
        script: "gcc -g p.c -o p && valgrind -q ./p && echo built",
    },
];

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

pub(crate) fn all() {
    let mut failures = Vec::new();
    for toolchain in TOOLCHAINS {
        let name = toolchain.programs.join(", ");
        if !toolchain
            .programs
            .iter()
            .all(|program| is_installed(program))
        {
            println!("skipped: {name} is not installed");
            continue;
        }
        let run = |is_confined: bool| {
            let fixture = Fixture::new();
            for (path, contents) in toolchain.files {
                let path = fixture.project().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                write(&path, contents);
            }
            let sandbox = is_confined.then(|| fixture.workspace_sandbox());
            let mut command = fixture.command(sandbox.as_ref(), "bash");
            // rustup finds its toolchains in the home directory of who runs the test.
            let rustup = std::env::home_dir().map(|home| home.join(".rustup"));
            if let Some(rustup) = rustup.filter(|_| std::env::var_os("RUSTUP_HOME").is_none()) {
                command.env("RUSTUP_HOME", rustup);
            }
            let output = command.args(["-c", toolchain.script]).output().unwrap();
            let is_built = String::from_utf8_lossy(&output.stdout).ends_with("built\n");
            (output.status.success() && is_built, text(&output))
        };
        match run(true) {
            (true, _) => println!("works: {name}"),
            // What does not work outside either says nothing about the sandbox.
            (false, _) if !run(false).0 => println!("skipped: {name} does not work here"),
            (false, output) => failures.push(format!("{name}: {output}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
