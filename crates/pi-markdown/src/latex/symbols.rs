//! Lookup tables for formulas: symbols, scripts, accents, delimiters.

/// Symbol commands, sorted by name.
const SYMBOLS: &[(&str, &str)] = &[
    ("Delta", "Δ"),
    ("Gamma", "Γ"),
    ("Im", "ℑ"),
    ("Lambda", "Λ"),
    ("Leftarrow", "⇐"),
    ("Leftrightarrow", "⇔"),
    ("Longrightarrow", "⟹"),
    ("Omega", "Ω"),
    ("Phi", "Φ"),
    ("Pi", "Π"),
    ("Pr", "Pr"),
    ("Psi", "Ψ"),
    ("Re", "ℜ"),
    ("Rightarrow", "⇒"),
    ("Sigma", "Σ"),
    ("Theta", "Θ"),
    ("Upsilon", "Υ"),
    ("Vert", "‖"),
    ("Xi", "Ξ"),
    ("aleph", "ℵ"),
    ("alpha", "α"),
    ("angle", "∠"),
    ("approx", "≈"),
    ("arccos", "arccos"),
    ("arcsin", "arcsin"),
    ("arctan", "arctan"),
    ("arg", "arg"),
    ("argmax", "argmax"),
    ("argmin", "argmin"),
    ("ast", "∗"),
    ("asymp", "≍"),
    ("backslash", "\\"),
    ("because", "∵"),
    ("beta", "β"),
    ("bigcap", "⋂"),
    ("bigcup", "⋃"),
    ("bigoplus", "⨁"),
    ("bigotimes", "⨂"),
    ("bigvee", "⋁"),
    ("bigwedge", "⋀"),
    ("bmod", "mod"),
    ("bot", "⊥"),
    ("bullet", "•"),
    ("cap", "∩"),
    ("cdot", "⋅"),
    ("cdots", "⋯"),
    ("checkmark", "✓"),
    ("chi", "χ"),
    ("circ", "∘"),
    ("colon", ":"),
    ("cong", "≅"),
    ("coprod", "∐"),
    ("cos", "cos"),
    ("cosh", "cosh"),
    ("cot", "cot"),
    ("csc", "csc"),
    ("cup", "∪"),
    ("dagger", "†"),
    ("ddagger", "‡"),
    ("ddots", "⋱"),
    ("deg", "deg"),
    ("degree", "°"),
    ("delta", "δ"),
    ("det", "det"),
    ("diamond", "◇"),
    ("dim", "dim"),
    ("div", "÷"),
    ("doteq", "≐"),
    ("dots", "…"),
    ("downarrow", "↓"),
    ("ell", "ℓ"),
    ("emptyset", "∅"),
    ("epsilon", "ε"),
    ("equiv", "≡"),
    ("eta", "η"),
    ("exists", "∃"),
    ("exp", "exp"),
    ("forall", "∀"),
    ("gamma", "γ"),
    ("gcd", "gcd"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("gets", "←"),
    ("gg", "≫"),
    ("hbar", "ℏ"),
    ("hookrightarrow", "↪"),
    ("iff", "⇔"),
    ("iiint", "∭"),
    ("iint", "∬"),
    ("implies", "⇒"),
    ("in", "∈"),
    ("inf", "inf"),
    ("infty", "∞"),
    ("int", "∫"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("ker", "ker"),
    ("lVert", "‖"),
    ("lambda", "λ"),
    ("land", "∧"),
    ("langle", "⟨"),
    ("lbrace", "{"),
    ("lceil", "⌈"),
    ("ldots", "…"),
    ("le", "≤"),
    ("leftarrow", "←"),
    ("leftrightarrow", "↔"),
    ("leq", "≤"),
    ("lfloor", "⌊"),
    ("lg", "lg"),
    ("lim", "lim"),
    ("ll", "≪"),
    ("ln", "ln"),
    ("lnot", "¬"),
    ("log", "log"),
    ("longleftarrow", "⟵"),
    ("longrightarrow", "⟶"),
    ("lor", "∨"),
    ("lvert", "|"),
    ("mapsto", "↦"),
    ("max", "max"),
    ("mid", "∣"),
    ("min", "min"),
    ("mod", "mod"),
    ("models", "⊨"),
    ("mp", "∓"),
    ("mu", "μ"),
    ("nabla", "∇"),
    ("ne", "≠"),
    ("nearrow", "↗"),
    ("neg", "¬"),
    ("neq", "≠"),
    ("nexists", "∄"),
    ("ni", "∋"),
    ("notin", "∉"),
    ("nu", "ν"),
    ("odot", "⊙"),
    ("oint", "∮"),
    ("omega", "ω"),
    ("ominus", "⊖"),
    ("oplus", "⊕"),
    ("otimes", "⊗"),
    ("parallel", "∥"),
    ("partial", "∂"),
    ("perp", "⊥"),
    ("phi", "φ"),
    ("pi", "π"),
    ("pm", "±"),
    ("prec", "≺"),
    ("preceq", "⪯"),
    ("prime", "′"),
    ("prod", "∏"),
    ("propto", "∝"),
    ("psi", "ψ"),
    ("rVert", "‖"),
    ("rangle", "⟩"),
    ("rbrace", "}"),
    ("rceil", "⌉"),
    ("rfloor", "⌋"),
    ("rho", "ρ"),
    ("rightarrow", "→"),
    ("rightharpoonup", "⇀"),
    ("rvert", "|"),
    ("searrow", "↘"),
    ("sec", "sec"),
    ("setminus", "∖"),
    ("sigma", "σ"),
    ("sim", "∼"),
    ("simeq", "≃"),
    ("sin", "sin"),
    ("sinh", "sinh"),
    ("sqcap", "⊓"),
    ("sqcup", "⊔"),
    ("square", "□"),
    ("star", "⋆"),
    ("subset", "⊂"),
    ("subseteq", "⊆"),
    ("succ", "≻"),
    ("succeq", "⪰"),
    ("sum", "∑"),
    ("sup", "sup"),
    ("supset", "⊃"),
    ("supseteq", "⊇"),
    ("surd", "√"),
    ("tan", "tan"),
    ("tanh", "tanh"),
    ("tau", "τ"),
    ("therefore", "∴"),
    ("theta", "θ"),
    ("times", "×"),
    ("to", "→"),
    ("top", "⊤"),
    ("triangle", "△"),
    ("uparrow", "↑"),
    ("upsilon", "υ"),
    ("varepsilon", "ε"),
    ("varnothing", "∅"),
    ("varphi", "φ"),
    ("vartheta", "ϑ"),
    ("vdash", "⊢"),
    ("vdots", "⋮"),
    ("vee", "∨"),
    ("vert", "|"),
    ("wedge", "∧"),
    ("wp", "℘"),
    ("xi", "ξ"),
    ("zeta", "ζ"),
];

pub(super) fn symbol(name: &str) -> Option<&'static str> {
    let index = SYMBOLS
        .binary_search_by_key(&name, |(known, _)| known)
        .ok()?;
    SYMBOLS.get(index).map(|(_, symbol)| *symbol)
}

/// Returns the delimiter of a command after `\\left` and similar commands.
pub(super) fn delimiter(name: &str) -> Option<&'static str> {
    symbol(name)
}

const SUPERSCRIPTS: (&str, &str) = (
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεθφχ",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᶿᵠᵡ",
);
const SUBSCRIPTS: (&str, &str) = (
    "0123456789+-−=()aehijklmnoprstuvxβγρφχ",
    "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ",
);

/// Returns the superscript form of a character.
pub(super) fn superscript(character: char) -> Option<char> {
    match character {
        '∗' | '*' => Some('*'),
        '′' => Some('′'),
        _ => mapped(character, SUPERSCRIPTS),
    }
}

/// Returns the subscript form of a character.
pub(super) fn subscript(character: char) -> Option<char> {
    mapped(character, SUBSCRIPTS)
}

fn mapped(character: char, (from, to): (&str, &str)) -> Option<char> {
    let index = from.chars().position(|known| known == character)?;
    to.chars().nth(index)
}

/// Returns the combining character of an accent.
pub(super) fn accent(name: &str) -> Option<char> {
    Some(match name {
        "hat" | "widehat" => '\u{302}',
        "bar" | "overline" => '\u{304}',
        "tilde" | "widetilde" => '\u{303}',
        "vec" | "overrightarrow" => '\u{20d7}',
        "dot" => '\u{307}',
        "ddot" => '\u{308}',
        "underline" => '\u{332}',
        _ => return None,
    })
}

/// Returns the double-struck form of a letter, or the character itself.
pub(super) fn double_struck(character: char) -> char {
    match character {
        'C' => 'ℂ',
        'H' => 'ℍ',
        'N' => 'ℕ',
        'P' => 'ℙ',
        'Q' => 'ℚ',
        'R' => 'ℝ',
        'Z' => 'ℤ',
        'A'..='Z' => {
            char::from_u32(u32::from(character) - u32::from('A') + 0x1d538).unwrap_or(character)
        }
        '1' => '𝟙',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_complete() {
        assert!(SYMBOLS.is_sorted());
        for (from, to) in [SUPERSCRIPTS, SUBSCRIPTS] {
            assert_eq!(from.chars().count(), to.chars().count());
        }
    }
}
