use pretty_assertions::assert_eq;

use super::*;

fn env() -> Env {
    Env::fixed([("KEY", "k1"), ("OTHER_2", "o2"), ("_U", "u"), ("EMPTY", "")])
}

async fn resolve(template: &str) -> Result<String, ValueTemplateError> {
    ValueTemplate::from(template)
        .resolve(&env(), CommandReuse::Fresh)
        .await
        .map(|value| value.expose_secret().to_owned())
}

fn missing(names: &[&str]) -> Result<String, ValueTemplateError> {
    Err(ValueTemplateError::MissingVariables {
        names: names.iter().map(|&name| name.to_owned()).collect(),
    })
}

#[tokio::test]
async fn templates_resolve() {
    let value = |text: &str| Ok(text.to_owned());
    let cases = [
        ("literal", value("literal")),
        ("$KEY", value("k1")),
        ("${KEY}", value("k1")),
        ("a-$KEY-b", value("a-k1-b")),
        ("${KEY}x${OTHER_2}", value("k1xo2")),
        ("$KEY$OTHER_2", value("k1o2")),
        ("$_U", value("u")),
        ("$$KEY", value("$KEY")),
        ("$$", value("$")),
        ("$!cmd", value("!cmd")),
        ("a!b", value("a!b")),
        ("price $5", value("price $5")),
        ("end$", value("end$")),
        ("${unclosed", value("${unclosed")),
        ("${not a name}", value("${not a name}")),
        ("${}", value("${}")),
        ("${1X}", value("${1X}")),
        ("$KEYé", value("k1é")),
        ("é$é", value("é$é")),
        ("$GONE", missing(&["GONE"])),
        ("$EMPTY", missing(&["EMPTY"])),
        ("$GONE-${ALSO}-$GONE", missing(&["GONE", "ALSO"])),
        ("", Err(ValueTemplateError::Empty)),
    ];
    for (template, expected) in cases {
        assert_eq!(resolve(template).await, expected, "{template:?}");
    }
}

#[test]
fn template_is_configured_when_its_variables_are_set() {
    for (template, configured, names) in [
        ("literal", true, vec![]),
        ("$KEY ${OTHER_2} $KEY", true, vec!["KEY", "OTHER_2"]),
        ("$GONE", false, vec!["GONE"]),
        ("!exit 1", true, vec![]),
        ("", false, vec![]),
    ] {
        let template = ValueTemplate::from(template);
        assert_eq!(template.is_configured(&env()), configured, "{names:?}");
        assert_eq!(template.variables(), names);
    }
}

#[cfg(unix)]
mod commands {
    use std::fs;
    use std::time::Instant;

    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

    fn problem(text: &str) -> Result<String, ValueTemplateError> {
        Err(ValueTemplateError::Command {
            problem: text.to_owned(),
        })
    }

    #[tokio::test]
    async fn command_yields_its_output() {
        for (template, expected) in [
            ("!echo key", Ok("key".to_owned())),
            ("!printf '  a b \\n\\n'", Ok("a b".to_owned())),
            (
                "!echo \"$$\" | tr -d '0-9\\n'; echo x$x",
                Ok("x".to_owned()),
            ),
            ("!echo secret >&2", problem("printed nothing")),
            ("!true", problem("printed nothing")),
            ("!echo secret; exit 3", problem("failed (exit status: 3)")),
            ("!printf '\\377'", problem("printed invalid UTF-8")),
            (
                "!head -c 3000000 /dev/zero",
                problem("printed too much output"),
            ),
        ] {
            assert_eq!(resolve(template).await, expected, "{template:?}");
        }
    }

    #[tokio::test]
    async fn background_process_does_not_delay_the_value() {
        let started = Instant::now();
        // Like `pass`, whose key agent inherits the pipe.
        assert_eq!(
            resolve("!echo key; (sleep 20 &)").await,
            Ok("key".to_owned())
        );
        assert!(started.elapsed().as_secs() < 5);
    }

    #[tokio::test]
    async fn hanging_command_is_killed_with_its_children() {
        let home = TempDir::new().unwrap();
        let pid_file = home.path().join("pid");
        let script = format!("sleep 60 & echo $! > {}; wait", pid_file.display());
        let outcome = command::run_within(&script, std::time::Duration::from_millis(1500)).await;
        assert_eq!(
            outcome.map(|_| ()),
            Err(ValueTemplateError::Command {
                problem: "did not finish within 1.5 s".to_owned()
            })
        );
        let pid: i32 = fs::read_to_string(pid_file)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        // init reaps the grandchild, which may take some time.
        let gone = || match fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let deadline = Instant::now() + std::time::Duration::from_secs(5);
        while !gone() && Instant::now() < deadline {
            tokio::task::yield_now().await;
        }
        assert!(gone(), "the command's child is still running");
    }

    #[tokio::test]
    async fn cached_command_runs_until_it_succeeds() {
        let home = TempDir::new().unwrap();
        let runs = home.path().join("runs");
        let template = ValueTemplate::from(format!(
            "!echo run >> {runs}; test $(wc -l < {runs}) -ge 2 && echo key",
            runs = runs.display()
        ));
        let cache = CommandCache::default();
        let env = env();
        let resolve = || template.resolve(&env, CommandReuse::Cached(&cache));
        assert!(resolve().await.is_err(), "the first run fails");
        let (first, second) = tokio::join!(resolve(), resolve());
        assert_eq!(first.unwrap().expose_secret(), "key");
        assert_eq!(second.unwrap().expose_secret(), "key");
        resolve().await.unwrap();
        assert_eq!(fs::read_to_string(&runs).unwrap(), "run\nrun\n");
        template.resolve(&env, CommandReuse::Fresh).await.unwrap();
        assert_eq!(fs::read_to_string(&runs).unwrap(), "run\nrun\nrun\n");
    }
}
