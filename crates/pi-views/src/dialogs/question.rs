//! A multiple-choice question: confirmations, and choices of extensions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pi_tui::{
    ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, MouseEventKind, action,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::countdown::Countdown;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::ListBody;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::{one_line, path_line, sanitize_lines};
use super::type_ahead::TypeAheadGuard;
use crate::dialogs::intent::{Intent, QuestionAnswer};
use crate::theme::ui_theme::UiTheme;

const MAX_CHOICES: usize = 12;

#[derive(Clone, Debug, Default)]
pub struct QuestionOptions {
    /// The first line is the title; others are shown below it.
    pub title: String,
    pub details: Option<String>,
    pub timeout: Option<Duration>,
    /// Ignores input that was typed before the question could be read.
    pub guards_type_ahead: bool,
}

/// What the answer is used for.
#[derive(Clone, Debug)]
enum QuestionPurpose {
    Choose,
    Confirm,
    Import(PathBuf),
}

#[derive(Debug)]
pub(crate) struct QuestionDialog {
    /// Remembers the selection if the question is withdrawn: a menu that changes is asked again.
    memory: Option<UiTheme>,
    question: QuestionOptions,
    choices: Vec<String>,
    picker: Picker,
    countdown: Option<Countdown>,
    type_ahead: Option<TypeAheadGuard>,
    purpose: QuestionPurpose,
}

impl QuestionDialog {
    /// Multiple-choice question, answered with [`QuestionAnswer::Chosen`] or a dismissal.
    pub(crate) fn choose(
        ui: UiTheme,
        question: QuestionOptions,
        choices: &[String],
        now: Instant,
    ) -> DialogFrame<Self> {
        let mut dialog = Self::new(question, choices, QuestionPurpose::Choose, now);
        let is_menu = !dialog.question.guards_type_ahead;
        let kept = ui
            .take_withdrawn_choice(subject(&dialog.question.title), now)
            .filter(|_| is_menu);
        let position = kept.and_then(|kept| {
            let mut choices = dialog.choices.iter();
            choices.position(|choice| subject(choice) == kept)
        });
        if let Some(position) = position {
            dialog.picker.select(position);
        }
        dialog.memory = is_menu.then(|| ui.clone());
        DialogFrame::new(ui, dialog)
    }

    /// Asks yes or no; dismissing the question, or letting it time out, means no.
    pub(crate) fn confirm(
        ui: UiTheme,
        question: QuestionOptions,
        now: Instant,
    ) -> DialogFrame<Self> {
        let choices = vec!["Yes".to_owned(), "No".to_owned()];
        DialogFrame::new(
            ui,
            Self::new(question, &choices, QuestionPurpose::Confirm, now),
        )
    }

    /// Asks whether to import a session file; yes sends [`Intent::Import`].
    pub(crate) fn import(ui: UiTheme, path: PathBuf, now: Instant) -> DialogFrame<Self> {
        let file = path_line(&path, &ui.context());
        let question = QuestionOptions {
            title: "Import this session?".to_owned(),
            details: Some(format!(
                "Copies {file} to this project's sessions and switches to it."
            )),
            ..QuestionOptions::default()
        };
        let choices = vec!["Import".to_owned(), "Cancel".to_owned()];
        DialogFrame::new(
            ui,
            Self::new(question, &choices, QuestionPurpose::Import(path), now),
        )
    }

    /// Returns only the body, for dialogs that embed a question.
    pub(super) fn embedded(question: QuestionOptions, choices: &[String]) -> Self {
        Self::new(question, choices, QuestionPurpose::Choose, Instant::now())
    }

    fn new(
        question: QuestionOptions,
        choices: &[String],
        purpose: QuestionPurpose,
        now: Instant,
    ) -> Self {
        let choices: Vec<String> = choices.iter().map(|choice| one_line(choice)).collect();
        Self {
            memory: None,
            picker: Picker::new(choices.len(), EdgeBehavior::Stop),
            countdown: Countdown::start(question.timeout, now),
            type_ahead: question.guards_type_ahead.then(TypeAheadGuard::default),
            question,
            choices,
            purpose,
        }
    }

    fn answer(&mut self, sink: &mut IntentSink) {
        self.memory = None;
        let chosen = self.picker.selected();
        match &self.purpose {
            QuestionPurpose::Choose => sink.finish(Intent::Answer(QuestionAnswer::Chosen(chosen))),
            QuestionPurpose::Confirm => {
                sink.finish(Intent::Answer(QuestionAnswer::Confirmed(chosen == 0)));
            }
            QuestionPurpose::Import(path) if chosen == 0 => {
                sink.finish(Intent::Import(path.clone()));
            }
            QuestionPurpose::Import(_) => self.dismiss(sink),
        }
    }

    /// Records input; returns whether it may answer the question.
    fn accepts(&mut self, now: Instant) -> bool {
        self.type_ahead
            .as_mut()
            .is_none_or(|guard| guard.accepts(now))
    }

    fn dismiss(&mut self, sink: &mut IntentSink) {
        self.memory = None;
        let answer = match self.purpose {
            QuestionPurpose::Confirm => QuestionAnswer::Confirmed(false),
            QuestionPurpose::Choose | QuestionPurpose::Import(_) => QuestionAnswer::Dismissed,
        };
        sink.finish(Intent::Answer(answer));
    }
}

impl Drop for QuestionDialog {
    fn drop(&mut self) {
        let choice = self.choices.get(self.picker.selected());
        if let (Some(memory), Some(choice)) = (&self.memory, choice) {
            memory.keep_withdrawn_choice(subject(&self.question.title), subject(choice));
        }
    }
}

/// Returns what a title or a choice is about: its first line without the state in parentheses or after a dot.
fn subject(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let ends = [" · ", " ("].map(|mark| line.find(mark).unwrap_or(line.len()));
    let end = ends.into_iter().min().unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}

/// Paints the question and its countdown.
pub(super) fn paint_question(
    canvas: &mut DialogCanvas,
    question: &QuestionOptions,
    countdown: Option<&Countdown>,
) {
    let text = sanitize_lines(&question.title);
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    canvas.blank();
    match countdown {
        Some(countdown) => {
            canvas.title(&format!("{title} ({}s left)", countdown.seconds_left()));
        }
        None => canvas.title(title),
    }
    if !rest.is_empty() {
        // Such as a list of files.
        canvas.text(RowPriority::Title, ColorToken::Text, rest);
    }
    if let Some(details) = &question.details {
        canvas.text(
            RowPriority::Detail,
            ColorToken::Text,
            &sanitize_lines(details),
        );
    }
    canvas.blank();
}

impl ListBody for QuestionDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed if self.choices.is_empty() => self.dismiss(sink),
            PickerEvent::Confirmed => self.answer(sink),
            PickerEvent::Canceled => self.dismiss(sink),
        }
    }
}

impl DialogBody for QuestionDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        if let Some(guard) = &mut self.type_ahead {
            guard.painted(Instant::now());
        }
        paint_question(canvas, &self.question, self.countdown.as_ref());
        let visible = self
            .picker
            .visible_range(canvas.list_rows(MAX_CHOICES, 1, 2));
        let cut = visible.len() < self.choices.len();
        for index in visible {
            let label = self.choices.get(index).map_or("", String::as_str);
            canvas.choice(index, index == self.picker.selected(), label, "");
        }
        if cut {
            canvas.position(self.picker.selected(), self.choices.len(), "");
        }
        canvas.blank();
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if !self.accepts(context.now) {
            // Only leaving needs no pause: it allows nothing.
            let selected = self.picker.selected();
            match self.picker.key(event, context) {
                Some(PickerEvent::Canceled) => self.dismiss(sink),
                _ => self.picker.select(selected),
            }
            return InputOutcome::Consumed;
        }
        self.handle_list_key(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let is_answer = matches!(event.kind, MouseEventKind::Click { .. });
        if is_answer && !self.accepts(context.now) {
            return true;
        }
        self.handle_list_mouse(event, hit, sink)
    }

    fn next_tick(&self) -> Option<Instant> {
        self.countdown.map(|countdown| countdown.next_tick())
    }

    fn tick(&mut self, now: Instant, sink: &mut IntentSink) {
        if self
            .countdown
            .as_mut()
            .is_some_and(|countdown| countdown.advance(now))
        {
            self.dismiss(sink);
        }
    }
}

#[cfg(test)]
mod tests;
