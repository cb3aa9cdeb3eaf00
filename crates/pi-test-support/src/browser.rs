//! A headless Chromium that a test drives: opens pages, evaluates expressions, types and presses keys.
//!
//! The browser is controlled over pipes, so that it opens no port.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Upper bound for everything a test waits for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A page that is not driven at the moment.
#[derive(Debug)]
pub struct PageId(String);

/// One browser, of which one page is driven at a time; dropping it ends the browser.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    last_command: u64,
    /// The page; empty until it is attached.
    page: String,
    /// The loader of the last document that a driven page has shown.
    document: Value,
    problems: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser with a viewport of a size; a narrow one is a phone. `None` with a message if no browser is
    /// installed.
    pub fn start(width: u32, height: u32) -> Option<Self> {
        let Some(program) = find_browser() else {
            let message = "skipped: no Chromium on this machine\n";
            std::io::stderr().write_all(message.as_bytes()).unwrap();
            return None;
        };
        let profile = TempDir::new().unwrap();
        // The browser reads commands from descriptor 3 and writes to 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0) {
                let Ok(message) = message else { return };
                let Ok(message) = serde_json::from_slice(&message) else {
                    return;
                };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            input,
            messages,
            last_command: 0,
            page: String::new(),
            document: Value::Null,
            problems: Vec::new(),
            _profile: profile,
        };
        browser.attach(width, height);
        Some(browser)
    }

    /// Opens another page and drives it from now on. Returns the earlier one, for [`Self::switch_to`].
    pub fn new_page(&mut self, width: u32, height: u32) -> PageId {
        let earlier = std::mem::take(&mut self.page);
        self.attach(width, height);
        PageId(earlier)
    }

    /// Drives another page from now on. Returns the earlier one.
    pub fn switch_to(&mut self, page: PageId) -> PageId {
        PageId(std::mem::replace(&mut self.page, page.0))
    }

    fn attach(&mut self, width: u32, height: u32) {
        let target = self.command("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.command("Target.attachToTarget", &target);
        attached["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.page);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.command(domain, &json!({}));
        }
        let is_phone = width < 720;
        self.command(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}),
        );
        self.command(
            "Emulation.setTouchEmulationEnabled",
            &json!({"enabled": is_phone}),
        );
    }

    /// Sends a command of the browser's protocol and returns its result.
    pub fn command(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_command += 1;
        let mut command = json!({"id": self.last_command, "method": method, "params": parameters});
        if !self.page.is_empty() {
            command["sessionId"] = json!(self.page);
        }
        let mut bytes = serde_json::to_vec(&command).unwrap();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let message = self.next_message(until, method);
            if message["id"] == self.last_command {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.record(&message);
        }
    }

    /// Returns the next message, which is waited for on behalf of a command.
    fn next_message(&self, until: Instant, method: &str) -> Value {
        let left = until.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("{method} is not answered"),
            Err(RecvTimeoutError::Disconnected) => panic!("the browser has ended"),
        }
    }

    /// Records errors of the page, and its documents.
    fn record(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Page.frameNavigated")
                if message["sessionId"] == self.page.as_str()
                    && parameters["frame"]["parentId"].is_null() =>
            {
                self.document = parameters["frame"]["loaderId"].clone();
            }
            Some("Runtime.exceptionThrown") => {
                let details = &parameters["exceptionDetails"];
                let text = details["exception"]["description"].as_str();
                let text = text.or_else(|| details["text"].as_str());
                self.problems.push(text.unwrap_or_default().to_owned());
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                let entry = &parameters["entry"];
                self.problems
                    .push(format!("{} {}", entry["text"], entry["url"]));
            }
            _ => {}
        }
    }

    /// Returns what went wrong in the page: uncaught errors, blocked requests, failed requests.
    pub fn problems(&mut self) -> &[String] {
        self.evaluate("0");
        &self.problems
    }

    /// Forgets what went wrong so far.
    pub fn clear_problems(&mut self) {
        self.evaluate("0");
        self.problems.clear();
    }

    /// Opens an address and waits until its document has replaced the earlier one.
    pub fn open(&mut self, address: &str) {
        let opened = self.command("Page.navigate", &json!({"url": address}));
        // A fragment of the same document has no loader, and a failed navigation may have no document.
        let loader = &opened["loaderId"];
        if loader.is_string() && opened["errorText"].is_null() {
            self.wait_for_document("Page.navigate", |document| document == loader);
        }
    }

    /// Reloads the page and waits until a new document has replaced the earlier one.
    pub fn reload(&mut self) {
        let earlier = self.document.clone();
        self.command("Page.reload", &json!({}));
        self.wait_for_document("Page.reload", |document| *document != earlier);
    }

    fn wait_for_document(&mut self, method: &str, is_expected: impl Fn(&Value) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_expected(&self.document) {
            let message = self.next_message(until, method);
            self.record(&message);
        }
    }

    /// Evaluates an expression, awaiting it if it is a promise. An error of the expression is null.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.command("Runtime.evaluate", &parameters);
        if result["exceptionDetails"].is_null() {
            result["result"]["value"].clone()
        } else {
            Value::Null
        }
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        let condition = format!("Boolean({expression})");
        while self.evaluate(&condition) != true {
            assert!(
                Instant::now() < until,
                "never true: {expression}\n{}\n{}",
                self.problems.join("\n"),
                self.evaluate("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the text of the first element that a selector finds; empty if there is none.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!(
            "document.querySelector({})?.innerText",
            json!(selector)
        ));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the first element that a selector finds, once it exists.
    pub fn click(&mut self, selector: &str) {
        let selector = json!(selector);
        self.wait_for(&format!("document.querySelector({selector})"));
        self.evaluate(&format!("document.querySelector({selector}).click()"));
    }

    /// Types a text into an element.
    pub fn type_into(&mut self, selector: &str, text: &str) {
        let selector = json!(selector);
        self.evaluate(&format!("document.querySelector({selector}).focus()"));
        self.command("Input.insertText", &json!({"text": text}));
    }

    /// Presses a named key, such as `Enter` or `Escape`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            "Tab" => 9,
            other => panic!("unknown key {other}"),
        };
        let mut event = json!({"key": key, "code": key, "windowsVirtualKeyCode": code});
        if key == "Enter" {
            event["text"] = json!("\r");
        }
        for kind in ["keyDown", "keyUp"] {
            event["type"] = json!(kind);
            self.command("Input.dispatchKeyEvent", &event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser may have ended already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Returns the browser that tests use, if one is installed.
pub fn find_browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path)
        .flat_map(|directory| BROWSERS.map(|name| directory.join(name)));
    files.into_iter().find(|file| file.is_file())
}
