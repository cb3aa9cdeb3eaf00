use pretty_assertions::assert_eq;

use super::*;

/// The modules were compared with those of another encoder, for all lengths and masks.
#[test]
fn a_text_is_drawn_with_half_blocks() {
    let drawn = terminal_qr_code("http://127.0.0.1:4141/#code").unwrap();
    let lines: Vec<&str> = drawn
        .lines()
        .map(|line| {
            let line = line.strip_prefix(COLORS).unwrap();
            line.strip_suffix("\x1b[0m").unwrap()
        })
        .collect();
    assert_eq!(
        lines,
        [
            "                             ",
            "  █▀▀▀▀▀█ ▀▄█▄█ ▀   █▀▀▀▀▀█  ",
            "  █ ███ █ ███ ▄█ ▀█ █ ███ █  ",
            "  █ ▀▀▀ █ ▀ ▄█▀▄ ▀  █ ▀▀▀ █  ",
            "  ▀▀▀▀▀▀▀ ▀ █ █ ▀ ▀ ▀▀▀▀▀▀▀  ",
            "  ▀█▀▀ ▄▀ █ █▀▄ ▄  █  ▀▀▀▄▀  ",
            "  ▀▄ ▀██▀ ▀██▀█▄ ▄ ▄▄▄ ▄▄    ",
            "   █▀▄▄▀▀▀ █▀ █▀ ▄ ▄█▀█ ▀▀█  ",
            "  ▄▀▀██▀▀▄▀█   ▀▄▄▀▀▀  ▄▀▀▄  ",
            "    ▀▀▀ ▀▀██ █▄▀▀▄█▀▀▀█▀▀▀█  ",
            "  █▀▀▀▀▀█  ▄█ ▄▀▀ █ ▀ █▀▀▀█  ",
            "  █ ███ █ ▄▀▄█   ▄█▀███ ▄▄█  ",
            "  █ ▀▀▀ █ █▀██▀██▀▀ ▀ █▀█▀   ",
            "  ▀▀▀▀▀▀▀ ▀▀▀ ▀▀▀▀  ▀▀▀▀▀▀▀  ",
            "                             ",
        ]
    );
}

#[test]
fn the_smallest_version_is_used() {
    for (length, size, sum) in [
        (17, 21, 49_521),
        (18, 25, 101_200),
        (134, 41, 716_075),
        (135, 45, 1_061_699),
        (192, 49, 1_513_889),
        (193, 53, 2_050_017),
        (230, 53, 2_057_265),
    ] {
        let grid = Grid::encode("x".repeat(length).as_bytes()).unwrap();
        let modules = grid.dark.iter().enumerate();
        let dark: usize = modules
            .filter_map(|(index, dark)| dark.then_some(index))
            .sum();
        assert_eq!((grid.size, dark), (size, sum), "{length}");
    }
    assert!(terminal_qr_code(&"x".repeat(231)).is_none());
    assert!(terminal_qr_code("").is_some());
}
