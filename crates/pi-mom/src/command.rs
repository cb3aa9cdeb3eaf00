//! Messages that the bot answers itself: `stop`, `model` and `cost`.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use pi_host::{ModelQuery, Persist, UnlistedModels, resolve_model};

use crate::channel::Channel;
use crate::ledger::Charge;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChatCommand {
    Stop,
    /// Shows the model, or changes it.
    Model(Option<String>),
    Cost,
}

impl ChatCommand {
    /// Parses the text of a message; `None` if it is for the model.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let name = words.next()?.to_ascii_lowercase();
        let argument = words.next();
        if words.next().is_some() {
            return None;
        }
        match (&*name, argument) {
            ("stop", None) => Some(Self::Stop),
            ("cost", None) => Some(Self::Cost),
            ("model", None) => Some(Self::Model(None)),
            // "model trains" is for the model; a name has a slash, a digit or a dash.
            ("model", Some(name))
                if name.contains(|c: char| "/-:".contains(c) || c.is_ascii_digit()) =>
            {
                Some(Self::Model(Some(name.to_owned())))
            }
            _ => None,
        }
    }

    /// Executes the command and returns the reply.
    pub(crate) async fn execute(self, channel: &Arc<Channel>) -> String {
        match self {
            Self::Stop => {
                let text = if channel.stop() {
                    "_Stopping_"
                } else {
                    "_Nothing is running_"
                };
                text.to_owned()
            }
            Self::Cost => cost(channel),
            Self::Model(pattern) => match model(channel, pattern.as_deref()).await {
                Ok(text) => text,
                Err(error) => format!("_{error}_"),
            },
        }
    }
}

async fn model(channel: &Arc<Channel>, pattern: Option<&str>) -> Result<String, String> {
    let handle = channel
        .open_session()
        .await
        .map_err(|error| error.to_string())?;
    let session = handle.session();
    if let Some(pattern) = pattern {
        let query = ModelQuery {
            provider: None,
            pattern,
            thinking: None,
            has_inline_key: false,
            unlisted: UnlistedModels::Rejected,
        };
        let resolved = resolve_model(query, session.models()).map_err(|error| error.to_string())?;
        let selection = session.selection();
        let changed = selection.set_model(resolved.model, Persist::Session).await;
        changed.map_err(|error| error.to_string())?;
        if let Some(level) = resolved.thinking {
            let changed = session
                .selection()
                .set_thinking_level(level, Persist::Session)
                .await;
            changed.map_err(|error| error.to_string())?;
        }
    }
    let selection = session.selection();
    let level = selection.thinking_level();
    Ok(match selection.model() {
        Some(model) => format!(
            "Model: `{}/{}`, thinking: {}",
            model.provider,
            model.id,
            level.as_str()
        ),
        None => "_No model is configured. Set `model` in mom.json._".to_owned(),
    })
}

fn cost(channel: &Channel) -> String {
    let context = &channel.context;
    let today = today(channel);
    let total: f64 = channel
        .ledger()
        .charges()
        .iter()
        .map(|charge| charge.cost)
        .sum();
    let mut text = format!("Cost of this channel: ${today:.2} today, ${total:.2} in total");
    let limits = [
        context
            .config
            .overrides
            .get(channel.id())
            .and_then(|it| it.max_cost_per_day),
        context.config.max_cost_per_day,
    ];
    for (limit, of) in limits.into_iter().zip(["this channel", "all channels"]) {
        if let Some(limit) = limit {
            write!(text, "\nLimit of {of}: ${limit:.2} per day").ok();
        }
    }
    text
}

/// Returns today's cost of a channel in US dollars.
pub(crate) fn today(channel: &Channel) -> f64 {
    let context = &channel.context;
    cost_of_day(
        channel.ledger().charges(),
        context.env.now_ms(),
        &context.zone,
    )
}

/// Returns today's cost of all channels.
pub(crate) fn today_of_all(channel: &Channel) -> f64 {
    let context = &channel.context;
    let charges = context.charges.lock();
    cost_of_day(&charges, context.env.now_ms(), &context.zone)
}

fn cost_of_day(charges: &[Charge], now_ms: i64, zone: &jiff::tz::TimeZone) -> f64 {
    let day = |ms| {
        let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        time.to_zoned(zone.clone()).date()
    };
    let today = day(now_ms);
    let charges = charges.iter().filter(|charge| day(charge.at) == today);
    charges.map(|charge| charge.cost).sum()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_short_messages_are_commands() {
        let model = |name: &str| Some(ChatCommand::Model(Some(name.to_owned())));
        for (text, command) in [
            ("stop", Some(ChatCommand::Stop)),
            (" STOP ", Some(ChatCommand::Stop)),
            ("stop the server", None),
            ("cost", Some(ChatCommand::Cost)),
            ("model", Some(ChatCommand::Model(None))),
            ("model anthropic/claude", model("anthropic/claude")),
            ("model gpt-5:high", model("gpt-5:high")),
            ("model trains", None),
            ("", None),
        ] {
            assert_eq!(ChatCommand::parse(text), command, "{text:?}");
        }
    }

    #[test]
    fn a_day_is_local() {
        let zone = TimeZone::get("Europe/Vienna").unwrap();
        let at = |time: &str| time.parse::<Timestamp>().unwrap().as_millisecond();
        let charges = [
            Charge {
                cost: 1.0,
                at: at("2026-03-28T22:59:00Z"),
            },
            Charge {
                cost: 2.0,
                at: at("2026-03-28T23:01:00Z"),
            },
            Charge {
                cost: 4.0,
                at: at("2026-03-29T21:59:00Z"),
            },
        ];
        assert_eq!(
            cost_of_day(&charges, at("2026-03-29T12:00:00Z"), &zone),
            6.0
        );
    }
}
