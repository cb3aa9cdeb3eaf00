//! Who has the keyboard, and who gets it back.
//!
//! An overlay that captures focus remembers who had it. When something else takes the keyboard from a
//! visible overlay for a while, the overlay gets it back once that something is gone or lets go.

use std::collections::HashMap;

use crate::overlay::{OverlayId, OverlayStack};
use crate::render::BlockId;
use crate::terminal::Size;

/// Something that can have the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FocusTarget {
    /// A block of the transcript.
    Transcript(BlockId),
    /// A block of the dock.
    Dock(BlockId),
    Overlay(OverlayId),
}

/// Who gets the keyboard from an overlay that lets go of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FocusFallback {
    /// The overlay in front, or whoever had it before.
    #[default]
    Automatic,
    Target(Option<FocusTarget>),
}

/// Who gets the keyboard when the one that took it from an overlay lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    Overlay,
    Other(Option<FocusTarget>),
}

/// The overlay with a claim on the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim {
    overlay: OverlayId,
    /// Who has the keyboard in its stead, and what follows.
    blocked: Option<(FocusTarget, Resume)>,
}

/// What the rules need to know about the screen.
pub(crate) struct Stage<'a> {
    pub(crate) overlays: &'a OverlayStack,
    pub(crate) size: Size,
    pub(crate) is_mounted: &'a dyn Fn(FocusTarget) -> bool,
}

impl Stage<'_> {
    fn shows(&self, overlay: OverlayId) -> bool {
        self.overlays.is_visible(overlay, self.size)
    }
}

/// The focus and its history.
#[derive(Debug, Default)]
pub(crate) struct Focus {
    current: Option<FocusTarget>,
    claim: Option<Claim>,
    /// Who had the keyboard when an overlay was shown.
    before: HashMap<OverlayId, Option<FocusTarget>>,
}

impl Focus {
    pub(crate) fn current(&self) -> Option<FocusTarget> {
        self.current
    }

    /// Gives the keyboard to `target`, or takes it away.
    pub(crate) fn set(&mut self, target: Option<FocusTarget>, stage: &Stage<'_>) {
        let next = match target {
            Some(FocusTarget::Overlay(_)) => target,
            Some(other) => self.pass_to(other, stage),
            None => match self.claim_blocked_by_current(stage) {
                Some((overlay, resume)) => self.resume(overlay, resume),
                None => {
                    self.claim = None;
                    None
                }
            },
        };
        self.take(next, stage);
    }

    /// Notes that `overlay` was shown, and gives it the keyboard if it captures.
    pub(crate) fn overlay_shown(&mut self, overlay: OverlayId, captures: bool, stage: &Stage<'_>) {
        self.before.entry(overlay).or_insert(self.current);
        if captures && stage.shows(overlay) {
            self.set(Some(FocusTarget::Overlay(overlay)), stage);
        }
    }

    /// Notes that `overlay` is out of sight; if it had the keyboard, the next one gets it.
    pub(crate) fn overlay_hidden(&mut self, overlay: OverlayId, stage: &Stage<'_>) {
        self.drop_claim(overlay);
        if self.current == Some(FocusTarget::Overlay(overlay)) {
            let next = self.after(overlay, stage);
            self.set(next, stage);
        }
    }

    /// Forgets `overlay`, which is gone.
    pub(crate) fn overlay_removed(&mut self, overlay: OverlayId, stage: &Stage<'_>) {
        self.overlay_hidden(overlay, stage);
        let inherited = self.before.remove(&overlay).flatten();
        for before in self.before.values_mut() {
            if *before == Some(FocusTarget::Overlay(overlay)) {
                *before = inherited;
            }
        }
    }

    /// Takes the keyboard from `overlay` and gives it to its heir.
    pub(crate) fn release(&mut self, overlay: OverlayId, heir: FocusFallback, stage: &Stage<'_>) {
        let has_it = self.current == Some(FocusTarget::Overlay(overlay));
        let claim = self.claim.filter(|claim| claim.overlay == overlay);
        if !has_it && claim.is_none() {
            return;
        }
        if let Some(Claim {
            blocked: Some((by, _)),
            ..
        }) = claim
            && self.current == Some(by)
        {
            self.claim = match heir {
                FocusFallback::Automatic => None,
                FocusFallback::Target(target) => Some(Claim {
                    overlay,
                    blocked: Some((by, Resume::Other(target))),
                }),
            };
            return;
        }
        self.drop_claim(overlay);
        match heir {
            FocusFallback::Target(target) => self.set(target, stage),
            FocusFallback::Automatic if has_it => {
                let next = self.after(overlay, stage);
                self.set(next, stage);
            }
            FocusFallback::Automatic => {}
        }
    }

    /// Settles who gets the next key: visibility may have changed since the last one.
    pub(crate) fn settle(&mut self, stage: &Stage<'_>) {
        if let Some(FocusTarget::Overlay(overlay)) = self.current
            && !stage.shows(overlay)
        {
            let next = self.after(overlay, stage);
            self.take(next, stage);
        }
        if let Some(target) = self.current
            && !(stage.is_mounted)(target)
        {
            self.set(None, stage);
        }
        if matches!(self.current, Some(FocusTarget::Overlay(_))) {
            return;
        }
        let Some(claim) = self.claim.filter(|claim| stage.shows(claim.overlay)) else {
            return;
        };
        match claim.blocked {
            None => self.set(Some(FocusTarget::Overlay(claim.overlay)), stage),
            Some((by, resume)) if Some(by) != self.current => {
                let next = self.resume(claim.overlay, resume);
                self.take(next, stage);
            }
            Some(_) => {}
        }
    }

    /// Works out who gets the keyboard when something that is no overlay asks for it.
    fn pass_to(&mut self, target: FocusTarget, stage: &Stage<'_>) -> Option<FocusTarget> {
        if let Some((overlay, resume)) = self.claim_blocked_by_current(stage) {
            let gone = self
                .current
                .is_some_and(|current| !(stage.is_mounted)(current));
            if gone || matches!(resume, Resume::Other(_)) {
                return self.resume(overlay, resume);
            }
            self.claim = Some(Claim {
                overlay,
                blocked: Some((target, resume)),
            });
        } else if let Some(FocusTarget::Overlay(overlay)) = self.current
            && stage.shows(overlay)
            && self.claim.is_some_and(|claim| claim.overlay == overlay)
            && !self.came_before(target, overlay)
        {
            self.claim = Some(Claim {
                overlay,
                blocked: Some((target, Resume::Overlay)),
            });
        }
        Some(target)
    }

    fn take(&mut self, target: Option<FocusTarget>, stage: &Stage<'_>) {
        self.current = target;
        if let Some(FocusTarget::Overlay(overlay)) = target
            && stage.shows(overlay)
        {
            self.claim = Some(Claim {
                overlay,
                blocked: None,
            });
        }
    }

    fn claim_blocked_by_current(&self, stage: &Stage<'_>) -> Option<(OverlayId, Resume)> {
        let claim = self.claim.filter(|claim| stage.shows(claim.overlay))?;
        let (by, resume) = claim.blocked?;
        (Some(by) == self.current).then_some((claim.overlay, resume))
    }

    fn resume(&mut self, overlay: OverlayId, resume: Resume) -> Option<FocusTarget> {
        match resume {
            Resume::Overlay => Some(FocusTarget::Overlay(overlay)),
            Resume::Other(target) => {
                self.claim = None;
                target
            }
        }
    }

    fn drop_claim(&mut self, overlay: OverlayId) {
        self.claim = self.claim.filter(|claim| claim.overlay != overlay);
    }

    /// Returns who gets the keyboard after `overlay`.
    fn after(&self, overlay: OverlayId, stage: &Stage<'_>) -> Option<FocusTarget> {
        stage
            .overlays
            .front_capturing(stage.size)
            .filter(|front| *front != overlay)
            .map(FocusTarget::Overlay)
            .or_else(|| self.before.get(&overlay).copied().flatten())
    }

    /// Returns whether `target` had the keyboard before `overlay`, directly or through others.
    fn came_before(&self, target: FocusTarget, overlay: OverlayId) -> bool {
        let mut overlay = overlay;
        for _ in 0..=self.before.len() {
            match self.before.get(&overlay).copied().flatten() {
                Some(before) if before == target => return true,
                Some(FocusTarget::Overlay(before)) => overlay = before,
                Some(_) | None => return false,
            }
        }
        false
    }
}
