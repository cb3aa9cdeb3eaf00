//! Size and position of overlays.

use pi_host::{OverlayExtent, OverlayPlacement};
use pi_tui::{OverlayAnchor, OverlayMargin, OverlayOptions, OverlayPosition, OverlayWidth};

/// Returns how the terminal shows an overlay.
pub fn overlay_options(placement: &OverlayPlacement) -> OverlayOptions {
    let margin = placement.margin.unwrap_or_default();
    OverlayOptions {
        width: match placement.width.as_ref().map(measure) {
            None => OverlayWidth::Auto,
            Some(OverlayMeasure::Cells(cells)) => OverlayWidth::Columns(cells),
            Some(OverlayMeasure::Percent(share)) => OverlayWidth::Percent(share),
        },
        min_width: placement.min_width.map_or(0, cells),
        max_height: placement.max_height.as_ref().map(position),
        anchor: match placement.anchor.as_deref() {
            Some("top-left") => OverlayAnchor::TopLeft,
            Some("top-center") => OverlayAnchor::TopCenter,
            Some("top-right") => OverlayAnchor::TopRight,
            Some("left-center") => OverlayAnchor::LeftCenter,
            Some("right-center") => OverlayAnchor::RightCenter,
            Some("bottom-left") => OverlayAnchor::BottomLeft,
            Some("bottom-center") => OverlayAnchor::BottomCenter,
            Some("bottom-right") => OverlayAnchor::BottomRight,
            _ => OverlayAnchor::Center,
        },
        offset_x: offset(placement.offset_x),
        offset_y: offset(placement.offset_y),
        row: placement.row.as_ref().map(position),
        column: placement.col.as_ref().map(position),
        margin: OverlayMargin {
            top: cells(margin.top),
            right: cells(margin.right),
            bottom: cells(margin.bottom),
            left: cells(margin.left),
        },
        captures_focus: !placement.non_capturing,
        ..OverlayOptions::default()
    }
}

enum OverlayMeasure {
    Cells(usize),
    Percent(f32),
}

fn measure(extent: &OverlayExtent) -> OverlayMeasure {
    match extent {
        OverlayExtent::Cells(count) => OverlayMeasure::Cells(cells(*count)),
        OverlayExtent::Share(text) => {
            let share = text.trim_end_matches('%').trim().parse();
            OverlayMeasure::Percent(share.unwrap_or(100.0))
        }
    }
}

fn position(extent: &OverlayExtent) -> OverlayPosition {
    match measure(extent) {
        OverlayMeasure::Cells(cells) => OverlayPosition::Cell(cells),
        OverlayMeasure::Percent(share) => OverlayPosition::Percent(share),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of screen sizes"
)]
fn cells(count: f64) -> usize {
    count.clamp(0.0, f64::from(u16::MAX)) as usize
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to the range of screen sizes"
)]
fn offset(count: f64) -> isize {
    let most = f64::from(u16::MAX);
    count.clamp(-most, most) as isize
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn overlay_options_are_parsed() {
        let placement: OverlayPlacement = serde_json::from_value(json!({
            "width": "50%", "minWidth": 20, "maxHeight": 10, "anchor": "top-right",
            "offsetX": -2, "row": "25%", "col": 3, "margin": { "top": 1, "left": 2 },
            "nonCapturing": true, "isVisible": true,
        }))
        .unwrap();
        let options = overlay_options(&placement);
        assert_eq!(options.width, OverlayWidth::Percent(50.0));
        assert_eq!(options.min_width, 20);
        assert_eq!(options.max_height, Some(OverlayPosition::Cell(10)));
        assert_eq!(options.anchor, OverlayAnchor::TopRight);
        assert_eq!((options.offset_x, options.offset_y), (-2, 0));
        assert_eq!(options.row, Some(OverlayPosition::Percent(25.0)));
        assert_eq!(options.column, Some(OverlayPosition::Cell(3)));
        assert_eq!((options.margin.top, options.margin.left), (1, 2));
        assert!(!options.captures_focus);
        let odd: OverlayPlacement =
            serde_json::from_value(json!({ "width": "wide", "minWidth": -4 })).unwrap();
        assert_eq!(overlay_options(&odd).min_width, 0);
    }
}
