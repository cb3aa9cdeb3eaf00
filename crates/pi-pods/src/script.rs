//! Scripts that run on a pod. They arrive over the standard input of `bash -s`, together with their variables: nothing of
//! them is on a command line, where other users of the pod would see it.

const COMMON: &str = include_str!("scripts/common.sh");

pub(crate) const SETUP: &str = include_str!("scripts/setup.sh");
pub(crate) const START: &str = include_str!("scripts/start.sh");
pub(crate) const STOP: &str = include_str!("scripts/stop.sh");
pub(crate) const STATUS: &str = include_str!("scripts/status.sh");
pub(crate) const CONTEXT: &str = include_str!("scripts/context.sh");
pub(crate) const FOLLOW: &str = include_str!("scripts/follow.sh");

/// Prefix of the lines that are for us.
const REPORT: &str = "pi-pods:";

/// A script with its variables. Not `Debug`: values may be secrets.
pub(crate) struct Script {
    text: String,
}

impl Script {
    /// `body` defines the function `main`.
    pub(crate) fn new(body: &str) -> Self {
        Self {
            text: format!("{COMMON}\n{body}\n"),
        }
    }

    #[must_use]
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.text.extend([name, "=", &quote(value), "\n"]);
        self
    }

    #[must_use]
    pub(crate) fn array<'value>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = &'value str>,
    ) -> Self {
        let values: Vec<String> = values.into_iter().map(quote).collect();
        self.text.extend([name, "=(", &values.join(" "), ")\n"]);
        self
    }

    /// Returns what bash reads. A script that arrives in part does nothing, because its last line calls `main`.
    pub(crate) fn into_text(self) -> String {
        self.text + "main\n"
    }
}

/// Quotes a word for a shell.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What a script reports in a line of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report<'line> {
    pub(crate) key: &'line str,
    pub(crate) value: &'line str,
}

impl<'line> Report<'line> {
    pub(crate) fn read(line: &'line str) -> Option<Self> {
        let (key, value) = line.strip_prefix(REPORT)?.split_once(':')?;
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
        is_key.then_some(Self { key, value })
    }
}

/// Returns the first value that a script reports under a key.
pub(crate) fn reported<'output>(output: &'output str, key: &str) -> Option<&'output str> {
    let mut reports = output.lines().filter_map(Report::read);
    reports
        .find(|report| report.key == key)
        .map(|report| report.value)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use pretty_assertions::assert_eq;

    use super::*;

    fn run(script: &str) -> String {
        let output = Command::new("bash").args(["-c", script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn values_reach_the_script_unchanged() {
        let hostile = [
            "$(id)",
            "`id`",
            "a'b",
            "'; echo x; '",
            "two\nlines",
            "",
            "-n",
            "\\",
            "!x",
            "ü *",
        ];
        for value in hostile {
            let script = Script::new("main() { printf '%s|' \"$VALUE\" \"${LIST[@]}\"; }");
            let script = script.variable("VALUE", value).array("LIST", hostile);
            let expected = [&[value], &hostile[..]].concat().join("|") + "|";
            assert_eq!(run(&script.into_text()), expected);
        }
    }

    #[test]
    fn a_script_that_arrives_in_part_does_nothing() {
        let whole = Script::new("main() {\n echo deleted\n}")
            .variable("X", "1")
            .into_text();
        assert_eq!(run(&whole), "deleted\n");
        for end in 0..whole.len() - "main\n".len() {
            assert_eq!(
                run(whole.get(..end).unwrap()).replace("main", ""),
                "",
                "{end}"
            );
        }
    }

    #[test]
    fn reports_are_recognized() {
        let output = "noise\npi-pods:pid:12\npi-pods: exited with code 1\npi-pods:port:x:y\n";
        assert_eq!(reported(output, "pid"), Some("12"));
        assert_eq!(reported(output, "port"), Some("x:y"));
        assert_eq!(reported(output, "other"), None);
        assert_eq!(Report::read("pi-pods: exited with code 1: x"), None);
    }
}
