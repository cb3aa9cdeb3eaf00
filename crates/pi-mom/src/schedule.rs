//! When a scheduled event runs. Pure.

use std::str::FromStr as _;

use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Deserialize;
use thiserror::Error;

/// A file in the events directory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(crate) enum EventFile {
    /// Runs at once.
    Immediate { channel_id: String, text: String },
    /// Runs at a time, with an offset.
    OneShot {
        channel_id: String,
        text: String,
        at: String,
    },
    /// Runs by a cron pattern.
    Periodic {
        channel_id: String,
        text: String,
        schedule: String,
        timezone: String,
    },
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EventError {
    #[error("not a valid event: {0}")]
    Format(#[from] serde_json::Error),
    #[error("`at` is not a time with an offset, such as 2026-03-01T09:00:00+01:00: {0}")]
    Time(jiff::Error),
    #[error("unknown time zone \"{0}\"")]
    Zone(String),
    #[error("`schedule` is not a valid cron pattern: {0}")]
    Pattern(String),
}

/// An event that has been read.
#[derive(Debug, Clone)]
pub struct ScheduledEvent {
    pub channel: String,
    pub text: String,
    pub timing: Timing,
}

#[derive(Debug, Clone)]
pub enum Timing {
    Immediate,
    At(Timestamp),
    Cron {
        pattern: Box<Cron>,
        zone: TimeZone,
        schedule: String,
    },
}

/// What to do with an event now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStep {
    /// Run it. `occurrence` identifies the run.
    Run {
        occurrence: Timestamp,
        is_last: bool,
    },
    Wait(Timestamp),
    /// It will never run.
    Drop,
}

impl ScheduledEvent {
    pub fn parse(text: &str) -> Result<Self, EventError> {
        let (channel, text, timing) = match serde_json::from_str(text)? {
            EventFile::Immediate { channel_id, text } => (channel_id, text, Timing::Immediate),
            EventFile::OneShot {
                channel_id,
                text,
                at,
            } => {
                let at = at.parse().map_err(EventError::Time)?;
                (channel_id, text, Timing::At(at))
            }
            EventFile::Periodic {
                channel_id,
                text,
                schedule,
                timezone,
            } => {
                let zone = TimeZone::get(&timezone);
                let zone = zone.map_err(|_unknown| EventError::Zone(timezone))?;
                let pattern = Cron::from_str(&schedule);
                let pattern = pattern.map_err(|error| EventError::Pattern(error.to_string()))?;
                let pattern = Box::new(pattern);
                (
                    channel_id,
                    text,
                    Timing::Cron {
                        pattern,
                        zone,
                        schedule,
                    },
                )
            }
        };
        Ok(Self {
            channel,
            text,
            timing,
        })
    }

    /// Returns what to do at `now`. `written` is when the file was written, `last` the last occurrence that was run, and
    /// `started` when the bot was started: occurrences of a cron pattern that it missed are not made up for.
    pub fn step(
        &self,
        now: Timestamp,
        written: Timestamp,
        last: Option<Timestamp>,
        started: Timestamp,
    ) -> EventStep {
        match &self.timing {
            Timing::Immediate => EventStep::Run {
                occurrence: written,
                is_last: true,
            },
            // It was in the past when it was written.
            Timing::At(at) if *at < written => EventStep::Drop,
            Timing::At(at) if *at <= now => EventStep::Run {
                occurrence: *at,
                is_last: true,
            },
            Timing::At(at) => EventStep::Wait(*at),
            Timing::Cron { pattern, zone, .. } => {
                let since = last.unwrap_or(started).max(started).max(written);
                // After a clock jump only the latest occurrence runs.
                let Some(next) = next_occurrence(pattern, &since.to_zoned(zone.clone())) else {
                    return EventStep::Drop;
                };
                if next > now {
                    return EventStep::Wait(next);
                }
                EventStep::Run {
                    occurrence: latest_occurrence(pattern, next, &now.to_zoned(zone.clone())),
                    is_last: false,
                }
            }
        }
    }

    /// Returns the next time for a list of events.
    pub fn next_run(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.timing {
            Timing::Immediate => Some(now),
            Timing::At(at) => (*at > now).then_some(*at),
            Timing::Cron { pattern, zone, .. } => {
                next_occurrence(pattern, &now.to_zoned(zone.clone()))
            }
        }
    }

    /// Returns how the timing is described to the model.
    pub fn label(&self) -> String {
        match &self.timing {
            Timing::Immediate => "immediate:immediate".to_owned(),
            Timing::At(at) => format!("one-shot:{at}"),
            Timing::Cron { schedule, .. } => format!("periodic:{schedule}"),
        }
    }
}

fn next_occurrence(pattern: &Cron, after: &Zoned) -> Option<Timestamp> {
    let next = pattern.find_next_occurrence(after, false).ok()?;
    // A time that the clock skips or repeats must not lead back.
    (next.timestamp() > after.timestamp()).then(|| next.timestamp())
}

/// Returns the last occurrence up to `now`; `first` is one.
fn latest_occurrence(pattern: &Cron, first: Timestamp, now: &Zoned) -> Timestamp {
    match pattern.find_previous_occurrence(now, true) {
        Ok(latest) if latest.timestamp() > first && latest.timestamp() <= now.timestamp() => {
            latest.timestamp()
        }
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn periodic(schedule: &str) -> ScheduledEvent {
        let file = json!({
            "type": "periodic", "channelId": "C1", "text": "t", "schedule": schedule, "timezone": "Europe/Vienna",
        });
        ScheduledEvent::parse(&file.to_string()).unwrap()
    }

    /// Runs a clock in steps of ten minutes and returns the occurrences.
    fn occurrences(event: &ScheduledEvent, from: &str, to: &str) -> Vec<String> {
        let (started, mut now, mut last, mut found) = (at(from), at(from), None, Vec::new());
        while now <= at(to) {
            if let EventStep::Run { occurrence, .. } = event.step(now, started, last, started) {
                found.push(occurrence.to_string());
                last = Some(occurrence);
            }
            now += jiff::SignedDuration::from_mins(10);
        }
        found
    }

    #[test]
    fn daily_events_keep_their_local_time_over_a_change_of_the_clock() {
        let event = periodic("0 9 * * *");
        assert_eq!(
            occurrences(&event, "2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z"),
            [
                "2026-03-28T08:00:00Z",
                "2026-03-29T07:00:00Z",
                "2026-03-30T07:00:00Z"
            ]
        );
        assert_eq!(
            occurrences(&event, "2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z"),
            [
                "2026-10-24T07:00:00Z",
                "2026-10-25T08:00:00Z",
                "2026-10-26T08:00:00Z"
            ]
        );
    }

    #[test]
    fn a_time_that_the_clock_skips_or_repeats_runs_once_a_day() {
        let event = periodic("30 2 * * *");
        let spring = occurrences(&event, "2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z");
        assert_eq!(spring.len(), 3, "{spring:?}");
        assert_eq!(spring.first().unwrap(), "2026-03-28T01:30:00Z");
        assert_eq!(spring.last().unwrap(), "2026-03-30T00:30:00Z");
        let autumn = occurrences(&event, "2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z");
        assert_eq!(
            autumn,
            [
                "2026-10-24T00:30:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z"
            ]
        );
    }

    #[test]
    fn hourly_events_run_in_every_hour() {
        let event = periodic("0 * * * *");
        let count = |from, to| occurrences(&event, from, to).len();
        assert_eq!(count("2026-03-28T22:30:00Z", "2026-03-29T22:30:00Z"), 24);
        assert_eq!(count("2026-10-24T22:30:00Z", "2026-10-25T22:30:00Z"), 24);
    }

    #[test]
    fn one_shots_run_once_even_late_unless_written_too_late() {
        let file = json!({"type": "one-shot", "channelId": "C1", "text": "t", "at": "2026-03-01T09:00:00+01:00"});
        let event = ScheduledEvent::parse(&file.to_string()).unwrap();
        let time = at("2026-03-01T08:00:00Z");
        let (before, later) = (at("2026-02-01T00:00:00Z"), at("2026-03-05T00:00:00Z"));
        let run = EventStep::Run {
            occurrence: time,
            is_last: true,
        };
        assert_eq!(
            event.step(before, before, None, before),
            EventStep::Wait(time)
        );
        assert_eq!(event.step(later, before, None, later), run);
        assert_eq!(event.step(later, later, None, before), EventStep::Drop);
    }

    #[test]
    fn a_clock_that_jumps_runs_the_latest_occurrence_only() {
        let event = periodic("*/5 * * * *");
        let start = at("2026-01-01T00:01:00Z");
        let run = |occurrence| EventStep::Run {
            occurrence: at(occurrence),
            is_last: false,
        };
        assert_eq!(
            event.step(at("2026-01-02T00:01:00Z"), start, None, start),
            run("2026-01-02T00:00:00Z")
        );
        // Back again: what has run does not run twice.
        let last = Some(at("2026-01-02T00:00:00Z"));
        assert_eq!(
            event.step(at("2026-01-01T12:00:00Z"), start, last, start),
            EventStep::Wait(at("2026-01-02T00:05:00Z"))
        );
    }

    #[test]
    fn invalid_events_say_why() {
        for (file, error) in [
            (
                json!({"type": "periodic", "channelId": "C", "text": "t", "schedule": "x", "timezone": "UTC"}),
                "cron pattern",
            ),
            (
                json!({"type": "periodic", "channelId": "C", "text": "t", "schedule": "0 9 * * *", "timezone": "Mars"}),
                "\"Mars\"",
            ),
            (
                json!({"type": "one-shot", "channelId": "C", "text": "t", "at": "tomorrow"}),
                "offset",
            ),
            (json!({"type": "weekly"}), "weekly"),
        ] {
            let message = ScheduledEvent::parse(&file.to_string())
                .unwrap_err()
                .to_string();
            assert!(message.contains(error), "{message}");
        }
    }
}
