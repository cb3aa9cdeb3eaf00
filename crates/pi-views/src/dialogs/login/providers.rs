//! A list of providers with their authentication status.

use pi_protocol::{AuthKind, AuthSource, AuthStatus, LoginOption};
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, MouseEvent,
    sort_by_score,
};

use super::super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::super::field::{point_at_field, prefilled};
use super::super::hint::Hint;
use super::super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::super::plain_text::one_line;

const MAX_ROWS: usize = 8;

pub(super) struct ProviderList {
    options: Vec<LoginOption>,
    matching: Vec<usize>,
    picker: Picker,
    search: Input,
    /// Whether the list has both accounts and keys, which are then labeled.
    mixed: bool,
}

impl ProviderList {
    pub(super) fn new(options: Vec<LoginOption>, search: &str) -> Self {
        let kinds = |kind: AuthKind| options.iter().any(|option| option.kind == kind);
        let mut list = Self {
            mixed: kinds(AuthKind::OAuth) && kinds(AuthKind::ApiKey),
            options,
            matching: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Stop),
            search: prefilled(search),
        };
        list.search.set_focused(true);
        list.apply_search();
        list
    }

    pub(super) fn selected(&self) -> Option<&LoginOption> {
        let index = self.matching.get(self.picker.selected())?;
        self.options.get(*index)
    }

    pub(super) fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
    }

    fn apply_search(&mut self) {
        let query = FuzzyQuery::new(self.search.value());
        let options = self.options.iter().enumerate();
        self.matching = sort_by_score(options.filter_map(|(index, option)| {
            let text = format!("{} {} {}", option.name, option.provider, kind(option.kind));
            Some((query.score(&text)?, index))
        }));
        self.picker.set_count(self.matching.len());
        if !query.is_empty() {
            self.picker.select(0);
        }
    }

    /// Handles a key; keys that are not list keys are typed into the search field.
    pub(super) fn key(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
    ) -> Result<PickerEvent, InputOutcome> {
        if let Some(picked) = self.picker.key(event, context) {
            return Ok(picked);
        }
        let outcome = self.search.handle_input(event, context);
        self.apply_search();
        Err(outcome)
    }

    /// Handles the mouse; the error says whether the search field used the event.
    pub(super) fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
    ) -> Result<PickerEvent, bool> {
        match self.picker.mouse(event, hit) {
            Some(picked) => Ok(picked),
            None => Err(point_at_field(&mut self.search, event, hit, context)),
        }
    }

    pub(super) fn paint(&mut self, canvas: &mut DialogCanvas, title: &str, hints: &[Hint]) {
        canvas.blank();
        canvas.title(title);
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        if self.matching.is_empty() {
            let text = if self.options.is_empty() {
                "  No providers."
            } else {
                "  No matching providers."
            };
            canvas.text(RowPriority::Content, ColorToken::Muted, text);
        }
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let option = self
                .matching
                .get(index)
                .and_then(|at| self.options.get(*at));
            let Some(option) = option else { continue };
            let mut note = String::new();
            if self.mixed {
                let kind = format!(" [{}]", kind(option.kind));
                note.push_str(&canvas.paint(ColorToken::Muted, &kind));
            }
            let (token, status) = status(option);
            note.push_str(&canvas.paint(token, &format!(" · {status}")));
            let name = one_line(&option.name);
            canvas.choice(index, index == self.picker.selected(), &name, &note);
        }
        if cut {
            canvas.position(self.picker.selected(), self.matching.len(), "");
        }
        canvas.blank();
        canvas.hints(hints);
    }
}

fn kind(kind: AuthKind) -> &'static str {
    match kind {
        AuthKind::OAuth => "account",
        AuthKind::ApiKey => "API key",
    }
}

/// Returns the authentication status as text.
fn status(option: &LoginOption) -> (ColorToken, String) {
    let Some(AuthStatus {
        kind: found,
        source,
    }) = &option.status
    else {
        return (ColorToken::Muted, "not configured".to_owned());
    };
    if *found != option.kind {
        return (
            ColorToken::Warning,
            format!("configured by {}", kind(*found)),
        );
    }
    let text = match source {
        AuthSource::Stored | AuthSource::OAuth => "configured".to_owned(),
        AuthSource::Explicit => "set for this run".to_owned(),
        AuthSource::Configured => "from models.json".to_owned(),
        AuthSource::Variable(name) => format!("from ${}", one_line(name)),
        AuthSource::Ambient(what) => format!("from {what}"),
    };
    (ColorToken::Success, text)
}
