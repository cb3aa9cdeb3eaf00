//! QR codes for the terminal (ISO/IEC 18004): bytes, error correction level L, versions 1 to 9, which hold 230 bytes.

/// Codewords of a version: those for data, those for error correction per block, and the number of blocks. The blocks of
/// these versions have the same length.
const VERSIONS: [(usize, usize, usize); 9] = [
    (19, 7, 1),
    (34, 10, 1),
    (55, 15, 1),
    (80, 20, 1),
    (108, 26, 1),
    (136, 18, 2),
    (156, 20, 2),
    (194, 24, 2),
    (232, 30, 2),
];

/// Light modules around the code, in each direction.
const MARGIN: usize = 2;

/// Black on white, whatever the colors of the terminal are.
const COLORS: &str = "\x1b[38;5;16;48;5;231m";

/// Returns the lines that show a text as a QR code in a terminal with 256 colors; `None` if the text is too long.
pub fn terminal_qr_code(text: &str) -> Option<String> {
    let grid = Grid::encode(text.as_bytes())?;
    let side = grid.size + 2 * MARGIN;
    let is_dark = |row: usize, column: usize| {
        let inner = row.checked_sub(MARGIN).zip(column.checked_sub(MARGIN));
        inner.is_some_and(|(row, column)| grid.is_dark(row, column))
    };
    let mut lines = String::new();
    // A character shows two rows.
    for row in (0..side).step_by(2) {
        lines.push_str(COLORS);
        for column in 0..side {
            lines.push(match (is_dark(row, column), is_dark(row + 1, column)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        lines.push_str("\x1b[0m\n");
    }
    Some(lines)
}

/// The modules of a code.
#[derive(Clone)]
struct Grid {
    version: usize,
    size: usize,
    dark: Vec<bool>,
    /// Modules that are not data.
    fixed: Vec<bool>,
}

impl Grid {
    fn encode(text: &[u8]) -> Option<Self> {
        let fits = |(data, _, _): &(usize, usize, usize)| text.len() + 2 <= *data;
        let index = VERSIONS.iter().position(fits)?;
        let codewords = codewords(text, VERSIONS[index])?;
        let version = index + 1;
        let size = 17 + 4 * version;
        let mut grid = Self {
            version,
            size,
            dark: vec![false; size * size],
            fixed: vec![false; size * size],
        };
        grid.draw_patterns();
        grid.draw_codewords(&codewords);
        let masked = (0..8).map(|mask| grid.masked(mask));
        masked.min_by_key(Self::penalty)
    }

    fn is_dark(&self, row: usize, column: usize) -> bool {
        row < self.size && column < self.size && self.dark[row * self.size + column]
    }

    fn is_fixed(&self, row: usize, column: usize) -> bool {
        self.fixed[row * self.size + column]
    }

    fn set(&mut self, row: usize, column: usize, dark: bool) {
        if row < self.size && column < self.size {
            self.dark[row * self.size + column] = dark;
            self.fixed[row * self.size + column] = true;
        }
    }

    fn draw_patterns(&mut self) {
        for position in 0..self.size {
            self.set(6, position, position % 2 == 0);
            self.set(position, 6, position % 2 == 0);
        }
        let last = self.size - 7;
        for (top, left) in [(0, 0), (0, last), (last, 0)] {
            // With the light modules around it.
            for row in (top.max(1) - 1)..=(top + 7) {
                for column in (left.max(1) - 1)..=(left + 7) {
                    let distance = row.abs_diff(top + 3).max(column.abs_diff(left + 3));
                    self.set(row, column, distance != 2 && distance != 4);
                }
            }
        }
        let centers: &[usize] = match self.version {
            1 => &[],
            7 => &[6, 22, 38],
            8 => &[6, 24, 42],
            9 => &[6, 26, 46],
            _ => &[6, self.size - 7],
        };
        for row in centers {
            for column in centers {
                let in_corner = (*row == 6 && (*column == 6 || *column == last))
                    || (*row == last && *column == 6);
                if !in_corner {
                    self.draw_alignment(*row, *column);
                }
            }
        }
        self.draw_format(0);
        self.draw_version();
    }

    fn draw_alignment(&mut self, center_row: usize, center_column: usize) {
        for row in (center_row - 2)..=(center_row + 2) {
            for column in (center_column - 2)..=(center_column + 2) {
                let distance = row.abs_diff(center_row).max(column.abs_diff(center_column));
                self.set(row, column, distance != 1);
            }
        }
    }

    /// Draws the error correction level and the mask, twice.
    fn draw_format(&mut self, mask: usize) {
        // Level L is 01.
        let bits = with_remainder((1 << 3) | mask, 10, 0x537) ^ 0x5412;
        let is_dark = |bit: usize| bits >> bit & 1 == 1;
        let last = self.size - 1;
        for bit in 0..15 {
            let (row, column) = match bit {
                0..=5 => (bit, 8),
                6 => (7, 8),
                7 => (8, 8),
                8 => (8, 7),
                _ => (8, 14 - bit),
            };
            self.set(row, column, is_dark(bit));
            let (row, column) = if bit < 8 {
                (8, last - bit)
            } else {
                (last + bit - 14, 8)
            };
            self.set(row, column, is_dark(bit));
        }
        self.set(self.size - 8, 8, true);
    }

    fn draw_version(&mut self) {
        if self.version < 7 {
            return;
        }
        let bits = with_remainder(self.version, 12, 0x1f25);
        for bit in 0..18 {
            let (near, far) = (bit / 3, self.size - 11 + bit % 3);
            let dark = bits >> bit & 1 == 1;
            self.set(near, far, dark);
            self.set(far, near, dark);
        }
    }

    /// Draws bits in columns of two modules, upward and downward in turn, from the right.
    fn draw_codewords(&mut self, codewords: &[u8]) {
        let mut bits = codewords
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
        let mut right = self.size - 1;
        let mut upward = true;
        loop {
            for step in 0..self.size {
                let row = if upward { self.size - 1 - step } else { step };
                for column in [right, right - 1] {
                    if !self.is_fixed(row, column) {
                        let dark = bits.next().unwrap_or(false);
                        self.dark[row * self.size + column] = dark;
                    }
                }
            }
            upward = !upward;
            // The vertical timing pattern has no data.
            right = match right {
                0..=2 => return,
                8 => 5,
                _ => right - 2,
            };
        }
    }

    /// Returns the code with a mask.
    fn masked(&self, mask: usize) -> Self {
        let mut masked = self.clone();
        for row in 0..self.size {
            for column in 0..self.size {
                let product = row * column;
                let flips = match mask {
                    0 => (row + column) % 2,
                    1 => row % 2,
                    2 => column % 3,
                    3 => (row + column) % 3,
                    4 => (row / 2 + column / 3) % 2,
                    5 => product % 2 + product % 3,
                    6 => (product % 2 + product % 3) % 2,
                    _ => ((row + column) % 2 + product % 3) % 2,
                };
                if flips == 0 && !self.is_fixed(row, column) {
                    masked.dark[row * self.size + column] ^= true;
                }
            }
        }
        masked.draw_format(mask);
        masked
    }

    /// Returns how hard the code is to read, by the rules of the standard.
    fn penalty(&self) -> usize {
        let mut penalty = 0;
        let module = |line: usize, position: usize, is_row: bool| {
            if is_row {
                self.is_dark(line, position)
            } else {
                self.is_dark(position, line)
            }
        };
        for is_row in [true, false] {
            for line in 0..self.size {
                let mut run = 0;
                let mut recent = 0_u32;
                for position in 0..self.size {
                    let dark = module(line, position, is_row);
                    let repeats = position > 0 && module(line, position - 1, is_row) == dark;
                    run = if repeats { run + 1 } else { 1 };
                    penalty += match run {
                        5 => 3,
                        6.. => 1,
                        _ => 0,
                    };
                    // A finder pattern with light modules on one side.
                    recent = (recent << 1 | u32::from(dark)) & 0x7ff;
                    if position >= 10 && [0b000_0101_1101, 0b101_1101_0000].contains(&recent) {
                        penalty += 40;
                    }
                }
            }
        }
        for row in 1..self.size {
            for column in 1..self.size {
                let dark = self.is_dark(row, column);
                let same = [(row - 1, column), (row, column - 1), (row - 1, column - 1)];
                if same
                    .iter()
                    .all(|(row, column)| self.is_dark(*row, *column) == dark)
                {
                    penalty += 3;
                }
            }
        }
        let dark = self.dark.iter().filter(|dark| **dark).count();
        let percent = dark * 100 / self.dark.len();
        penalty + percent.abs_diff(50) / 5 * 10
    }
}

/// Appends the remainder of a division by a polynomial.
fn with_remainder(value: usize, bits: usize, divisor: usize) -> usize {
    let mut rest = value << bits;
    for shift in (0..8).rev() {
        if rest >> (shift + bits) & 1 == 1 {
            rest ^= divisor << shift;
        }
    }
    value << bits | rest
}

/// Returns the codewords of a text in the order in which they are drawn.
fn codewords(text: &[u8], (data, correction, blocks): (usize, usize, usize)) -> Option<Vec<u8>> {
    let length = u8::try_from(text.len()).ok()?;
    // The mode (4 bits), the length (8 bits), the bytes, and the end (4 bits).
    let mut words = Vec::with_capacity(data);
    let mut high = 0x40;
    for byte in std::iter::once(&length).chain(text) {
        words.push(high | byte >> 4);
        high = byte << 4;
    }
    words.push(high);
    let padding = [0xec, 0x11].into_iter().cycle();
    words.extend(padding.take(data.saturating_sub(words.len())));
    let blocks: Vec<&[u8]> = words.chunks(data / blocks).collect();
    let checks: Vec<Vec<u8>> = blocks
        .iter()
        .map(|block| remainder(block, correction))
        .collect();
    let mut drawn = Vec::new();
    for index in 0..data {
        drawn.extend(blocks.iter().filter_map(|block| block.get(index)));
    }
    for index in 0..correction {
        drawn.extend(checks.iter().filter_map(|check| check.get(index)));
    }
    Some(drawn)
}

/// Returns the error correction of a block.
fn remainder(block: &[u8], correction: usize) -> Vec<u8> {
    let mut generator = vec![0; correction];
    generator[correction - 1] = 1;
    let mut root = 1;
    for _ in 0..correction {
        for index in 0..correction {
            let next = generator.get(index + 1).copied().unwrap_or_default();
            generator[index] = multiply(generator[index], root) ^ next;
        }
        root = multiply(root, 2);
    }
    let mut rest = vec![0; correction];
    for byte in block {
        let factor = byte ^ rest[0];
        rest.rotate_left(1);
        rest[correction - 1] = 0;
        for (rest, generator) in rest.iter_mut().zip(&generator) {
            *rest ^= multiply(*generator, factor);
        }
    }
    rest
}

/// Multiplies in the field of 256 elements.
fn multiply(left: u8, right: u8) -> u8 {
    let mut product: u8 = 0;
    for bit in (0..8).rev() {
        let carry = product >> 7;
        product = (product << 1) ^ (carry * 0x1d);
        product ^= (right >> bit & 1) * left;
    }
    product
}

#[cfg(test)]
mod tests;
