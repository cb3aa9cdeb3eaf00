//! Sends one prompt to a model and streams the response.
//!
//! ```text
//! cargo run -p pi-providers --example ask -- faux/echo "hello"
//! cargo run -p pi-providers --example ask -- anthropic/claude-opus-4-8 "hello" --thinking low
//! cargo run -p pi-providers --example ask -- local/qwen "hello" --api openai-completions \
//!     --base-url http://127.0.0.1:8080/v1 --api-key none
//! ```
//!
//! The response text goes to stdout; thinking, tool calls, usage and cost go to stderr. Press
//! Ctrl-C to cancel.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use futures_util::StreamExt as _;
use pi_protocol::{
    AssistantMessage, AssistantMessageEvent, Model, StopReason, ThinkingLevel, UserMessage, api,
};
use pi_providers::{
    FauxProvider, ModelConfig, Models, ModelsOptions, ProviderConfig, Registration, StreamOptions,
};

const USAGE: &str = "\
Usage: ask MODEL TEXT [options]

MODEL is `provider/id`.

Options:
  --base-url URL    Send the request to this base URL
  --api API         Use this wire API
  --api-key KEY     Authenticate with this key
  --thinking LEVEL  Thinking level: off, minimal, low, medium, high, xhigh or max
";

enum AskError {
    /// Invalid command line.
    Usage(String),
    /// The request failed.
    Request(String),
    Interrupted,
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Request(error.to_string())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let failure = match run().await {
        Ok(()) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    let (message, code) = match failure {
        AskError::Usage(message) => (format!("error: {message}\n\n{USAGE}"), 2),
        AskError::Request(message) => (format!("error: {message}\n"), 1),
        AskError::Interrupted => ("interrupted\n".to_owned(), 130),
    };
    match io::stderr().write_all(message.as_bytes()) {
        Ok(()) | Err(_) => ExitCode::from(code),
    }
}

async fn run() -> Result<(), AskError> {
    let arguments = AskArguments::parse(std::env::args().skip(1))?;
    let models = Models::new(ModelsOptions::default());
    let demo = Registration::Provider(Arc::new(FauxProvider::echo()));
    register(&models, "faux", demo)?;
    let model = select_model(&models, &arguments)?;

    let options = StreamOptions {
        api_key: arguments.api_key.map(Into::into),
        reasoning: model.clamp_thinking_level(arguments.thinking.unwrap_or(ThinkingLevel::Off)),
        ..StreamOptions::default()
    };
    let cancel = options.cancel.clone();
    let prompt = UserMessage {
        content: arguments.text.as_str().into(),
        ..UserMessage::default()
    };
    let mut response = models.stream(&model, [prompt.into()], options);
    let mut printer = Printer::default();
    loop {
        let event = tokio::select! {
            event = response.next() => event,
            // The stream then ends with what has arrived so far.
            Ok(()) = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => {
                cancel.cancel();
                continue;
            }
        };
        let Some(event) = event else { break };
        printer.show(&event)?;
        if let Some(message) = event.final_message() {
            printer.finish(message)?;
            return match message.stop_reason {
                StopReason::Aborted => Err(AskError::Interrupted),
                StopReason::Error => Err(AskError::Request(
                    message.error_message.clone().unwrap_or_default(),
                )),
                _ => Ok(()),
            };
        }
    }
    Ok(())
}

fn register(models: &Models, id: &str, registration: Registration) -> Result<(), AskError> {
    models
        .register(id, registration)
        .map_err(|error| AskError::Usage(error.to_string()))
}

/// Resolves the model, or builds one for a server given by `--base-url`.
fn select_model(models: &Models, arguments: &AskArguments) -> Result<Arc<Model>, AskError> {
    if let Some(api) = arguments.api.as_deref()
        && !api::ALL.contains(&api)
    {
        return Err(AskError::Usage(format!(
            "unknown API {api} (expected one of: {})",
            api::ALL.join(", ")
        )));
    }
    let Some((provider, id)) = arguments.model.split_once('/') else {
        return Err(AskError::Usage("MODEL must be provider/id".to_owned()));
    };
    let is_new = models.provider(provider).is_none();
    match (&arguments.base_url, &arguments.api) {
        (Some(base_url), Some(api)) if is_new => {
            let model = ModelConfig {
                id: id.to_owned(),
                reasoning: Some(true),
                ..ModelConfig::default()
            };
            let config = ProviderConfig {
                base_url: Some(base_url.clone()),
                api: Some(api.clone()),
                models: Some(vec![model]),
                ..ProviderConfig::default()
            };
            register(models, provider, Registration::ModelsFile(config))?;
        }
        (Some(_), None) if is_new => {
            return Err(AskError::Usage(format!(
                "unknown provider {provider}: --base-url requires --api"
            )));
        }
        _ => {}
    }
    let Some(mut model) = models.model(provider, id) else {
        return Err(AskError::Usage(format!("unknown model {provider}/{id}")));
    };
    if let Some(base_url) = &arguments.base_url {
        Arc::make_mut(&mut model).base_url.clone_from(base_url);
    }
    if let Some(api) = &arguments.api {
        Arc::make_mut(&mut model).api.clone_from(api);
    }
    Ok(model)
}

#[derive(Default)]
struct AskArguments {
    model: String,
    text: String,
    base_url: Option<String>,
    api: Option<String>,
    api_key: Option<String>,
    thinking: Option<ThinkingLevel>,
}

impl AskArguments {
    fn parse(given: impl Iterator<Item = String>) -> Result<Self, AskError> {
        let mut arguments = Self::default();
        let mut positional = Vec::new();
        let mut given = given;
        while let Some(argument) = given.next() {
            if !argument.starts_with("--") {
                positional.push(argument);
                continue;
            }
            let mut value = || {
                given
                    .next()
                    .ok_or_else(|| AskError::Usage(format!("{argument} requires a value")))
            };
            match argument.as_str() {
                "--base-url" => arguments.base_url = Some(value()?),
                "--api" => arguments.api = Some(value()?),
                "--api-key" => arguments.api_key = Some(value()?),
                "--thinking" => {
                    let name = value()?;
                    let level = ThinkingLevel::from_name(&name);
                    arguments.thinking = Some(level.ok_or_else(|| {
                        AskError::Usage(format!("unknown thinking level {name}"))
                    })?);
                }
                unknown => return Err(AskError::Usage(format!("unknown option {unknown}"))),
            }
        }
        let [model, text] = <[String; 2]>::try_from(positional).map_err(|positional| {
            AskError::Usage(format!(
                "expected MODEL and TEXT, got {} arguments",
                positional.len()
            ))
        })?;
        Ok(Self {
            model,
            text,
            ..arguments
        })
    }
}

/// Prints events as they arrive.
#[derive(Default)]
struct Printer {
    /// Whether text was written since the last newline.
    open_line: bool,
}

impl Printer {
    fn show(&mut self, event: &AssistantMessageEvent) -> io::Result<()> {
        match event {
            AssistantMessageEvent::TextDelta { delta, .. } => {
                self.open_line = !delta.ends_with('\n');
                let mut stdout = io::stdout();
                stdout.write_all(delta.as_bytes())?;
                stdout.flush()
            }
            AssistantMessageEvent::TextEnd { .. } => self.end_line(),
            AssistantMessageEvent::ThinkingDelta { delta, .. } => {
                write!(io::stderr(), "\x1b[2m{delta}\x1b[22m")
            }
            AssistantMessageEvent::ThinkingEnd { .. } => writeln!(io::stderr()),
            AssistantMessageEvent::ToolCallEnd { tool_call, .. } => {
                let arguments = serde_json::Value::Object(tool_call.arguments.clone());
                writeln!(io::stderr(), "[{}] {arguments}", tool_call.name)
            }
            _ => Ok(()),
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open_line) {
            writeln!(io::stdout())?;
        }
        Ok(())
    }

    fn finish(&mut self, message: &AssistantMessage) -> io::Result<()> {
        self.end_line()?;
        let usage = &message.usage;
        if usage.total_tokens == 0 {
            return Ok(());
        }
        writeln!(
            io::stderr(),
            "\x1b[2m{} in, {} cached, {} out, ${:.6}\x1b[22m",
            usage.input,
            usage.cache_read,
            usage.output,
            usage.cost.total
        )
    }
}
