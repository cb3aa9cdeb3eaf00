use pretty_assertions::assert_eq;

use super::*;

fn size(metric: Metric, name: &str, value: usize) -> Size {
    Size {
        metric,
        name: name.to_owned(),
        value,
    }
}

fn exception(metric: Metric, name: &'static str, at_most: usize) -> SizeException {
    SizeException {
        metric,
        name,
        at_most,
        reason: "split pending",
    }
}

#[test]
fn values_up_to_the_limit_and_known_exceptions_pass() {
    let sizes = [
        size(Metric::Lines, "small", 20_000),
        size(Metric::Methods, "small::Handle", 40),
        size(Metric::Fields, "small::Record", 20),
        size(Metric::Fields, "small::Row", 30),
    ];
    let exceptions = [exception(Metric::Fields, "small::Row", 33)];
    assert_eq!(find_violations(&sizes, &exceptions), Vec::<String>::new());
}

#[test]
fn excess_growth_and_stale_exceptions_are_violations() {
    let sizes = [
        size(Metric::Lines, "big", 20_001),
        size(Metric::Methods, "big::Handle", 41),
        size(Metric::Methods, "big::App", 90),
        size(Metric::Fields, "big::Record", 12),
    ];
    let exceptions = [
        exception(Metric::Methods, "big::App", 80),
        exception(Metric::Fields, "big::Record", 25),
        exception(Metric::Fields, "big::Removed", 25),
    ];
    assert_eq!(
        find_violations(&sizes, &exceptions),
        [
            "big has 20001 lines, the limit is 20000",
            "big::Handle has 41 methods, the limit is 40",
            "big::App has 90 methods, more than the 80 its exception allows",
            "big::Record needs no exception for its fields: remove it from limits/exceptions.rs",
            "big::Removed needs no exception for its fields: remove it from limits/exceptions.rs",
        ]
    );
}

#[test]
fn the_table_shows_the_largest_values_and_their_exceptions() {
    let sizes = [
        size(Metric::Lines, "a", 10),
        size(Metric::Lines, "b", 30_000),
        size(Metric::Methods, "a::Handle", 3),
    ];
    let exceptions = [exception(Metric::Lines, "b", 30_000)];
    assert_eq!(
        format_table(&sizes, &exceptions),
        "\
Lines of production code per crate (limit 20000, 1 over)
   30000  b (split pending)
      10  a
Methods per type (limit 40, 0 over)
       3  a::Handle
Fields per struct (limit 20, 0 over)
"
    );
}
