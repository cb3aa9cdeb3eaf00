//! Ranks tools by how well they match a query: Okapi BM25 over descriptions, with names and namespaces as further
//! fields.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use pi_core::RegisteredTool;
use serde_json::Value;

use crate::words::words;

/// Number of tools that a search returns unless it names another.
pub const DEFAULT_LIMIT: usize = 8;

/// How fast repeated words lose weight.
const K1: f64 = 1.2;
/// How much long descriptions lose weight.
const B: f64 = 0.75;
/// Weight of a word in the name: more than any number of mentions in a description, which is below `K1 + 1`.
const NAME_WEIGHT: f64 = 3.0;
/// Weight of a word in the namespace, which all tools of a server share.
const NAMESPACE_WEIGHT: f64 = 0.5;
/// Levels of a schema that are searched.
const MAX_SCHEMA_DEPTH: usize = 64;

/// Returns the positions of the tools that match a query, best first. A tool with the name that is the query comes
/// first, then tools that match more of its words, then those with the higher score. Ties keep their order.
pub fn rank_tools(query: &str, tools: &[RegisteredTool], limit: usize) -> Vec<usize> {
    let terms: BTreeSet<String> = words(query).into_iter().collect();
    if terms.is_empty() || tools.is_empty() {
        return Vec::new();
    }
    let documents: Vec<Document> = tools.iter().map(Document::of).collect();
    let total: f64 = documents.iter().map(|document| document.length).sum();
    let average = Some(total / count(documents.len())).filter(|average| *average > 0.0);
    let terms: Vec<(String, f64)> = terms
        .into_iter()
        .map(|term| {
            let weight = rarity(&term, &documents);
            (term, weight)
        })
        .collect();
    let query = comparable_name(query);
    let mut matches: Vec<RankedTool> = documents
        .iter()
        .enumerate()
        .filter_map(|(position, document)| {
            let (score, covered) = document.score(&terms, average.unwrap_or(1.0));
            (score > 0.0).then(|| RankedTool {
                position,
                is_exact: document.is_named(&query),
                covered,
                score,
            })
        })
        .collect();
    pi_protocol::sort_by(&mut matches, RankedTool::compare);
    matches.truncate(limit);
    matches.into_iter().map(|it| it.position).collect()
}

struct RankedTool {
    position: usize,
    is_exact: bool,
    /// Number of words of the query that the tool matches.
    covered: usize,
    score: f64,
}

impl RankedTool {
    fn compare(&self, other: &Self) -> Ordering {
        other
            .is_exact
            .cmp(&self.is_exact)
            .then(other.covered.cmp(&self.covered))
            .then(other.score.total_cmp(&self.score))
    }
}

/// The words of a tool by field.
struct Document {
    name: String,
    in_name: BTreeSet<String>,
    /// The words after the last `__` of the name.
    in_local_name: BTreeSet<String>,
    in_namespace: BTreeSet<String>,
    /// How often each word occurs in descriptions and property names.
    in_text: HashMap<String, f64>,
    length: f64,
}

impl Document {
    fn of(tool: &RegisteredTool) -> Self {
        let declaration = tool.tool.declaration();
        let mut text = declaration.description.clone();
        collect_schema_text(&declaration.parameters, MAX_SCHEMA_DEPTH, &mut text);
        let mut in_text = HashMap::new();
        for word in words(&text) {
            *in_text.entry(word).or_insert(0.0) += 1.0;
        }
        let namespace = tool.metadata.namespace.as_ref().map(|namespace| {
            let parts = [
                Some(namespace.name.as_str()),
                namespace.description.as_deref(),
                namespace.instructions.as_deref(),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        });
        let local = declaration.name.rsplit("__").next().unwrap_or_default();
        Self {
            name: comparable_name(&declaration.name),
            in_name: words(&declaration.name).into_iter().collect(),
            in_local_name: words(local).into_iter().collect(),
            in_namespace: words(&namespace.unwrap_or_default()).into_iter().collect(),
            length: in_text.values().sum(),
            in_text,
        }
    }

    fn has(&self, term: &str) -> bool {
        self.in_name.contains(term)
            || self.in_text.contains_key(term)
            || self.in_namespace.contains(term)
    }

    /// Returns the score, and how many of the terms occur.
    fn score(&self, terms: &[(String, f64)], average: f64) -> (f64, usize) {
        let norm = K1 * (1.0 - B + B * self.length / average);
        let mut score = 0.0;
        let mut covered = 0;
        for (term, rarity) in terms {
            let mentions = self.in_text.get(term).copied().unwrap_or(0.0);
            let mut weight = mentions * (K1 + 1.0) / (mentions + norm);
            if self.in_name.contains(term) {
                weight += NAME_WEIGHT;
            }
            if self.in_namespace.contains(term) {
                weight += NAMESPACE_WEIGHT;
            }
            if weight > 0.0 {
                covered += 1;
            }
            score += rarity * weight;
        }
        let is_in_query = |word: &String| terms.iter().any(|(term, _)| term == word);
        if score > 0.0
            && !self.in_local_name.is_empty()
            && self.in_local_name.iter().all(is_in_query)
        {
            score += terms.iter().map(|(_, rarity)| rarity).sum::<f64>();
        }
        (score, covered)
    }

    /// Whether a query is the name, or its part after a `__`.
    fn is_named(&self, query: &str) -> bool {
        let rest = self.name.strip_suffix(query);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("__"))
    }
}

/// Returns the inverse document frequency of a word.
fn rarity(term: &str, documents: &[Document]) -> f64 {
    let frequency = count(
        documents
            .iter()
            .filter(|document| document.has(term))
            .count(),
    );
    let others = count(documents.len()) - frequency;
    (1.0 + (others + 0.5) / (frequency + 0.5)).ln()
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

/// Returns a name in lowercase with `_` for characters that identifiers cannot have.
fn comparable_name(name: &str) -> String {
    let plain = |it: char| match it {
        'a'..='z' | '0'..='9' | '_' | '$' => it,
        _ => '_',
    };
    name.trim().to_lowercase().chars().map(plain).collect()
}

/// Appends the descriptions and property names of a schema.
fn collect_schema_text(schema: &Value, depth: usize, text: &mut String) {
    let (Some(schema), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return;
    };
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        text.push(' ');
        text.push_str(description);
    }
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        text.push(' ');
        text.push_str(name);
        collect_schema_text(property, depth, text);
    }
    if let Some(items) = schema.get("items") {
        collect_schema_text(items, depth, text);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for variant in schema
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            collect_schema_text(variant, depth, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::BoxFuture;
    use pi_core::{Tool, ToolContext, ToolError, ToolNamespace};
    use pi_protocol::json::JsonObject;
    use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    struct Named(ToolDeclaration);

    impl Tool for Named {
        fn declaration(&self) -> &ToolDeclaration {
            &self.0
        }

        fn call(
            &self,
            _cx: ToolContext,
            _arguments: JsonObject,
        ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
            Box::pin(std::future::ready(Ok(ToolOutput::text(""))))
        }
    }

    fn tool(name: &str, description: &str) -> RegisteredTool {
        RegisteredTool::new(Arc::new(Named(ToolDeclaration {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
            constrained_sampling: None,
            extra: JsonObject::new(),
        })))
    }

    fn names(query: &str, tools: &[RegisteredTool]) -> Vec<String> {
        rank_tools(query, tools, DEFAULT_LIMIT)
            .into_iter()
            .map(|position| tools[position].name().to_owned())
            .collect()
    }

    #[test]
    fn coverage_precedes_score_and_an_exact_name_precedes_coverage() {
        let tools = [
            tool("window", "Moves things."),
            tool("capture", "Takes a screenshot of a window."),
            tool("mcp__app__screenshot_window", "Rarely useful."),
        ];
        assert_eq!(names("window", &tools)[0], "window");
        assert_eq!(
            names("screenshot window", &tools),
            ["mcp__app__screenshot_window", "capture", "window"]
        );
        let exact = [
            tool("a", "List the open issues: list issues of the list."),
            tool("mcp__x__list-issues", "No words."),
        ];
        assert_eq!(names("list_issues", &exact)[0], "mcp__x__list-issues");
    }

    #[test]
    fn schemas_and_namespaces_are_searched() {
        let mut mail = tool("send", "Sends.");
        mail.metadata.namespace = Some(ToolNamespace {
            name: "post".to_owned(),
            aliases: None,
            description: Some("Letters and parcels.".to_owned()),
            instructions: Some("Stamps are needed.".to_owned()),
        });
        let tools = [mail, tool("other", "Nothing.")];
        for query in ["parcel", "stamps", "post"] {
            assert_eq!(names(query, &tools), ["send"], "{query}");
        }
        assert!(names("zeppelin", &tools).is_empty());
        assert!(names("the of", &tools).is_empty());
    }

    #[test]
    fn ties_keep_their_order_and_the_limit_applies() {
        let tools: Vec<_> = (0..12)
            .map(|it| tool(&format!("f_{it}"), "A filler."))
            .collect();
        assert_eq!(rank_tools("filler", &tools, 3), [0, 1, 2]);
        assert_eq!(
            rank_tools("filler", &tools, DEFAULT_LIMIT).len(),
            DEFAULT_LIMIT
        );
        assert_eq!(rank_tools("filler", &tools, 0), [0; 0]);
    }

    #[test]
    fn a_deep_schema_is_searched_to_a_limit() {
        let mut schema = json!({"description": "bottom"});
        for _ in 0..100 {
            schema = json!({"items": schema});
        }
        let mut text = String::new();
        collect_schema_text(&schema, MAX_SCHEMA_DEPTH, &mut text);
        assert_eq!(text, "");
    }
}
