//! Keyboard focus: which component has it, and which one gets it back.
//!
//! An overlay that captures focus remembers the previous target. If another component takes focus
//! from a visible overlay, the overlay gets focus back when that component is removed or
//! releases focus.

use std::collections::HashMap;

use crate::overlay::{OverlayId, OverlayStack};
use crate::render::BlockId;
use crate::terminal::Size;

/// A component that can receive keyboard focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FocusTarget {
    Transcript(BlockId),
    Dock(BlockId),
    Overlay(OverlayId),
}

/// Which component receives focus when an overlay releases it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FocusFallback {
    /// The frontmost capturing overlay, or else the previously focused component.
    #[default]
    Automatic,
    Target(Option<FocusTarget>),
}

/// Which component receives focus when the one that took it from an overlay releases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResumeTarget {
    Overlay,
    Other(Option<FocusTarget>),
}

/// A visible overlay that is entitled to focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FocusClaim {
    overlay: OverlayId,
    /// The component that currently has focus instead, and where focus goes afterwards.
    blocked: Option<(FocusTarget, ResumeTarget)>,
}

/// Screen state that the focus rules depend on.
pub(crate) struct FocusContext<'a> {
    pub(crate) overlays: &'a OverlayStack,
    pub(crate) size: Size,
    pub(crate) is_mounted: &'a dyn Fn(FocusTarget) -> bool,
}

impl FocusContext<'_> {
    fn is_visible(&self, overlay: OverlayId) -> bool {
        self.overlays.is_visible(overlay, self.size)
    }
}

/// The current focus and the focus history of overlays.
#[derive(Debug, Default)]
pub(crate) struct Focus {
    current: Option<FocusTarget>,
    claim: Option<FocusClaim>,
    /// The component that had focus when each overlay was shown.
    focused_before: HashMap<OverlayId, Option<FocusTarget>>,
}

impl Focus {
    pub(crate) fn current(&self) -> Option<FocusTarget> {
        self.current
    }

    /// Moves focus to `target`, or clears it.
    pub(crate) fn set(&mut self, target: Option<FocusTarget>, context: &FocusContext<'_>) {
        let next = match target {
            Some(FocusTarget::Overlay(_)) => target,
            Some(other) => self.resolve_target(other, context),
            None => match self.claim_blocked_by_current(context) {
                Some((overlay, resume)) => self.resume(overlay, resume),
                None => {
                    self.claim = None;
                    None
                }
            },
        };
        self.assign(next, context);
    }

    /// Records that `overlay` was shown, and focuses it if it captures focus.
    pub(crate) fn overlay_shown(
        &mut self,
        overlay: OverlayId,
        captures: bool,
        context: &FocusContext<'_>,
    ) {
        self.focused_before.entry(overlay).or_insert(self.current);
        if captures && context.is_visible(overlay) {
            self.set(Some(FocusTarget::Overlay(overlay)), context);
        }
    }

    /// Records that `overlay` is no longer visible. If it had focus, the next component gets it.
    pub(crate) fn overlay_hidden(&mut self, overlay: OverlayId, context: &FocusContext<'_>) {
        self.drop_claim(overlay);
        if self.current == Some(FocusTarget::Overlay(overlay)) {
            let next = self.next_after(overlay, context);
            self.set(next, context);
        }
    }

    /// Forgets a removed overlay.
    pub(crate) fn overlay_removed(&mut self, overlay: OverlayId, context: &FocusContext<'_>) {
        self.overlay_hidden(overlay, context);
        let inherited = self.focused_before.remove(&overlay).flatten();
        for focused_before in self.focused_before.values_mut() {
            if *focused_before == Some(FocusTarget::Overlay(overlay)) {
                *focused_before = inherited;
            }
        }
    }

    /// Takes focus from `overlay` and gives it to `fallback`.
    pub(crate) fn release(
        &mut self,
        overlay: OverlayId,
        fallback: FocusFallback,
        context: &FocusContext<'_>,
    ) {
        let has_focus = self.current == Some(FocusTarget::Overlay(overlay));
        let claim = self.claim.filter(|claim| claim.overlay == overlay);
        if !has_focus && claim.is_none() {
            return;
        }
        if let Some(FocusClaim {
            blocked: Some((blocker, _)),
            ..
        }) = claim
            && self.current == Some(blocker)
        {
            self.claim = match fallback {
                FocusFallback::Automatic => None,
                FocusFallback::Target(target) => Some(FocusClaim {
                    overlay,
                    blocked: Some((blocker, ResumeTarget::Other(target))),
                }),
            };
            return;
        }
        self.drop_claim(overlay);
        match fallback {
            FocusFallback::Target(target) => self.set(target, context),
            FocusFallback::Automatic if has_focus => {
                let next = self.next_after(overlay, context);
                self.set(next, context);
            }
            FocusFallback::Automatic => {}
        }
    }

    /// Recomputes focus before the next key, since visibility may have changed.
    pub(crate) fn resolve(&mut self, context: &FocusContext<'_>) {
        if let Some(FocusTarget::Overlay(overlay)) = self.current
            && !context.is_visible(overlay)
        {
            let next = self.next_after(overlay, context);
            self.assign(next, context);
        }
        if let Some(target) = self.current
            && !(context.is_mounted)(target)
        {
            self.set(None, context);
        }
        if matches!(self.current, Some(FocusTarget::Overlay(_))) {
            return;
        }
        let Some(claim) = self.claim.filter(|claim| context.is_visible(claim.overlay)) else {
            return;
        };
        match claim.blocked {
            None => self.set(Some(FocusTarget::Overlay(claim.overlay)), context),
            Some((blocker, resume)) if Some(blocker) != self.current => {
                let next = self.resume(claim.overlay, resume);
                self.assign(next, context);
            }
            Some(_) => {}
        }
    }

    /// Determines which component gets focus when a non-overlay component requests it.
    fn resolve_target(
        &mut self,
        target: FocusTarget,
        context: &FocusContext<'_>,
    ) -> Option<FocusTarget> {
        if let Some((overlay, resume)) = self.claim_blocked_by_current(context) {
            let is_unmounted = self
                .current
                .is_some_and(|current| !(context.is_mounted)(current));
            if is_unmounted || matches!(resume, ResumeTarget::Other(_)) {
                return self.resume(overlay, resume);
            }
            self.claim = Some(FocusClaim {
                overlay,
                blocked: Some((target, resume)),
            });
        } else if let Some(FocusTarget::Overlay(overlay)) = self.current
            && context.is_visible(overlay)
            && self.claim.is_some_and(|claim| claim.overlay == overlay)
            && !self.was_focused_before(target, overlay)
        {
            self.claim = Some(FocusClaim {
                overlay,
                blocked: Some((target, ResumeTarget::Overlay)),
            });
        }
        Some(target)
    }

    fn assign(&mut self, target: Option<FocusTarget>, context: &FocusContext<'_>) {
        self.current = target;
        if let Some(FocusTarget::Overlay(overlay)) = target
            && context.is_visible(overlay)
        {
            self.claim = Some(FocusClaim {
                overlay,
                blocked: None,
            });
        }
    }

    fn claim_blocked_by_current(
        &self,
        context: &FocusContext<'_>,
    ) -> Option<(OverlayId, ResumeTarget)> {
        let claim = self
            .claim
            .filter(|claim| context.is_visible(claim.overlay))?;
        let (blocker, resume) = claim.blocked?;
        (Some(blocker) == self.current).then_some((claim.overlay, resume))
    }

    fn resume(&mut self, overlay: OverlayId, resume: ResumeTarget) -> Option<FocusTarget> {
        match resume {
            ResumeTarget::Overlay => Some(FocusTarget::Overlay(overlay)),
            ResumeTarget::Other(target) => {
                self.claim = None;
                target
            }
        }
    }

    fn drop_claim(&mut self, overlay: OverlayId) {
        self.claim = self.claim.filter(|claim| claim.overlay != overlay);
    }

    /// Returns the component that receives focus after `overlay`.
    fn next_after(&self, overlay: OverlayId, context: &FocusContext<'_>) -> Option<FocusTarget> {
        context
            .overlays
            .front_capturing(context.size)
            .filter(|front| *front != overlay)
            .map(FocusTarget::Overlay)
            .or_else(|| self.focused_before.get(&overlay).copied().flatten())
    }

    /// Whether `target` had focus before `overlay`, directly or through other overlays.
    fn was_focused_before(&self, target: FocusTarget, overlay: OverlayId) -> bool {
        let mut overlay = overlay;
        for _ in 0..=self.focused_before.len() {
            match self.focused_before.get(&overlay).copied().flatten() {
                Some(focused_before) if focused_before == target => return true,
                Some(FocusTarget::Overlay(focused_before)) => overlay = focused_before,
                Some(_) | None => return false,
            }
        }
        false
    }
}
