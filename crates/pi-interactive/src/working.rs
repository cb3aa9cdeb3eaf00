//! The line that says what is going on: working, compacting, waiting to try again.

use std::time::{Duration, Instant};

use pi_ai::StreamPhase;
use pi_tui::{ColorToken, Component, Lines};

use crate::keys;
use crate::look::Look;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL: Duration = Duration::from_millis(80);

/// What is going on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Activity {
    /// Nothing.
    #[default]
    Idle,
    /// A run.
    Working {
        /// What the waiting request does, if one waits.
        phase: Option<StreamPhase>,
    },
    /// A compaction.
    Compacting {
        /// Whether pi began it by itself.
        automatic: bool,
    },
    /// A branch is being summarized.
    Summarizing,
    /// A failed request is made again after a pause.
    Retrying {
        /// The attempt, the first being 1.
        attempt: u32,
        /// How many there may be.
        max_attempts: u32,
        /// When.
        until: Instant,
    },
}

/// The indicator.
#[derive(Debug)]
pub(crate) struct Working {
    look: Look,
    activity: Activity,
    since: Instant,
    now: Instant,
}

impl Working {
    /// Starts idle.
    pub(crate) fn new(look: Look, now: Instant) -> Self {
        Self {
            look,
            activity: Activity::Idle,
            since: now,
            now,
        }
    }

    /// Shows something else.
    pub(crate) fn set(&mut self, activity: Activity, now: Instant) {
        if std::mem::discriminant(&self.activity) != std::mem::discriminant(&activity) {
            self.since = now;
        }
        self.activity = activity;
        self.now = now;
    }

    /// Returns what is shown.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Returns when the picture changes next; never while idle.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        (self.activity != Activity::Idle).then(|| self.now + INTERVAL)
    }

    /// Moves on to `now`.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.now = now;
    }
}

impl Component for Working {
    fn render(&mut self, _width: usize) -> Lines {
        let appearance = self.look.appearance();
        let stop = appearance.key(keys::INTERRUPT);
        let text = match &self.activity {
            Activity::Idle => return Lines::empty(),
            Activity::Working { phase } => match phase {
                Some(StreamPhase::Connecting) => "Connecting…".to_owned(),
                Some(StreamPhase::Waiting) => "Waiting for the model…".to_owned(),
                _ => "Working…".to_owned(),
            },
            Activity::Compacting { automatic: true } => "Compacting automatically…".to_owned(),
            Activity::Compacting { automatic: false } => "Compacting…".to_owned(),
            Activity::Summarizing => "Summarizing the branch…".to_owned(),
            Activity::Retrying {
                attempt,
                max_attempts,
                until,
            } => {
                let left = until
                    .saturating_duration_since(self.now)
                    .as_secs_f64()
                    .ceil();
                format!("Retrying ({attempt}/{max_attempts}) in {left:.0}s…")
            }
        };
        let elapsed = self.now.saturating_duration_since(self.since);
        let frame = (elapsed.as_millis() / INTERVAL.as_millis()) as usize % FRAMES.len();
        let picture = FRAMES.get(frame).copied().unwrap_or_default();
        let line = format!(
            " {} {}",
            appearance.paint(ColorToken::Accent, picture),
            appearance.paint(ColorToken::Muted, &format!("{text} ({stop} to stop)"))
        );
        [String::new(), line].into_iter().collect()
    }
}
