//! Names that indicate a secret value: environment variables, fields, headers.

/// Complete names of secrets, without case, dashes and underscores.
const SECRET_NAMES: &[&str] = &[
    "apikey",
    "authorization",
    "bearer",
    "cfaigauthorization",
    "cookie",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "pwd",
    "secret",
    "setcookie",
    "token",
    "xapikey",
    "xauthtoken",
    "xgoogapikey",
];

/// Suffixes of longer names.
const SECRET_ENDINGS: &[&str] = &[
    "accesskey",
    "accesskeyid",
    "accesstoken",
    "apikey",
    "authtoken",
    "credentials",
    "idtoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "subscriptionkey",
    "token",
];

/// Ambiguous names; their value must look like a secret too. The credential file uses them.
const AMBIGUOUS_NAMES: &[&str] = &["access", "auth", "key", "refresh", "sig", "signature"];

/// Returns whether a name indicates a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let normalized = normalize(name);
    SECRET_NAMES.contains(&normalized.as_str())
        || SECRET_ENDINGS
            .iter()
            .any(|ending| normalized.ends_with(ending))
        || (normalized.starts_with("aws") && normalized.contains("bearertoken"))
}

/// Returns whether a name and a value together indicate a secret.
pub(super) fn holds_secret(name: &str, value: &str) -> bool {
    if is_secret(name) {
        return value.len() >= super::MIN_SECRET_LENGTH && !is_reference(value);
    }
    AMBIGUOUS_NAMES.contains(&normalize(name).as_str()) && is_random_looking(value)
}

/// Returns whether an unquoted value is more than program code: a type, a call, a variable.
pub(super) fn is_literal(name: &str, value: &str) -> bool {
    let is_constant = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let normalized = normalize(name);
    let is_written_out = normalized.contains("pass") || normalized.contains("authorization");
    let is_password = is_written_out && !value.contains(['<', '(', '&']);
    is_constant || is_password || value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns whether a value only refers to the secret: a variable, a call, a placeholder.
fn is_reference(value: &str) -> bool {
    const REFERENCE_PREFIXES: &[&str] = &[
        "$",
        "!",
        "<",
        "{",
        "%",
        "process.",
        "os.",
        "env.",
        "env(",
        "env::",
        "std::",
        "import.",
        "getenv",
        "self.",
        "this.",
        "config.",
        "settings.",
        "&",
        "*",
        "(",
        "None",
        "null",
        "undefined",
        "string",
        "String",
    ];
    let value = value.trim_start_matches(['"', '\'', '`']);
    REFERENCE_PREFIXES
        .iter()
        .any(|start| value.starts_with(start))
        || value.contains("()")
}

fn is_random_looking(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._~+/=-|".contains(&byte))
}

fn normalize(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|character| !matches!(character, '-' | '_' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_recognized() {
        for name in [
            "ANTHROPIC_API_KEY",
            "apiKey",
            "x-api-key",
            "HF_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_SECRET_ACCESS_KEY",
            "client_secret",
            "DB_PASSWORD",
            "Authorization",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "max_tokens",
            "inputTokens",
            "keyboard",
            "tokenizer",
            "id",
            "secretary",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn ambiguous_names_need_a_secret_looking_value() {
        assert!(holds_secret("access", "abcd1234abcd1234abcd"));
        assert!(!holds_secret("access", "public, from everywhere"));
        assert!(!holds_secret("key", "ctrl+shift+p"));
        assert!(!holds_secret("apiKey", "$OPENAI_API_KEY"));
        assert!(!holds_secret("token", "short"));
    }
}
