//! Names that say their value is a secret: environment variables, fields, headers.

/// Names that stand for a secret as a whole, without case, dashes and underscores.
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

/// Ends of longer names that do.
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

/// Names that may stand for anything; their value has to look like a secret, too. The credential file
/// uses them.
const DOUBTFUL_NAMES: &[&str] = &["access", "auth", "key", "refresh", "sig", "signature"];

/// Returns whether a name belongs to a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain = plain(name);
    SECRET_NAMES.contains(&plain.as_str())
        || SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending))
        || (plain.starts_with("aws") && plain.contains("bearertoken"))
}

/// Returns whether a name and a value together are a secret.
pub(super) fn holds_secret(name: &str, value: &str) -> bool {
    if is_secret(name) {
        return value.len() >= super::SHORTEST_SECRET && !refers_elsewhere(value);
    }
    DOUBTFUL_NAMES.contains(&plain(name).as_str()) && looks_random(value)
}

/// Returns whether a value without quotes is more than a word of a program: a type, a call, a variable.
pub(super) fn is_no_code(name: &str, value: &str) -> bool {
    let is_constant = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let plain = plain(name);
    let is_written_out = plain.contains("pass") || plain.contains("authorization");
    let is_password = is_written_out && !value.contains(['<', '(', '&']);
    is_constant || is_password || value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns whether a value only says where the secret is: a variable, a call, a placeholder.
fn refers_elsewhere(value: &str) -> bool {
    const ELSEWHERE: &[&str] = &[
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
    ELSEWHERE.iter().any(|start| value.starts_with(start)) || value.contains("()")
}

fn looks_random(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._~+/=-|".contains(&byte))
}

fn plain(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|character| !matches!(character, '-' | '_' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_others() {
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
    fn doubtful_names_need_a_doubtful_value() {
        assert!(holds_secret("access", "abcd1234abcd1234abcd"));
        assert!(!holds_secret("access", "public, from everywhere"));
        assert!(!holds_secret("key", "ctrl+shift+p"));
        assert!(!holds_secret("apiKey", "$OPENAI_API_KEY"));
        assert!(!holds_secret("token", "short"));
    }
}
