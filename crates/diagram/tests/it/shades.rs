//! Pictures can be read on white paper and on a dark screen.

use std::collections::{BTreeMap, BTreeSet};

use conclave_diagram::draw;
use conclave_diagram::plot::{Curve, Panel, Plot, Value, plot};
use roxmltree::Document;

use crate::gallery;

fn pictures() -> Vec<String> {
    let runs = gallery::all().into_iter().map(|(_, trace, options)| draw(&trace, &options));
    let points = vec![Value { across: Some(1), up: 1, label: "1".into(), is_ringed: true }];
    let curve = Curve { name: "one".into(), points };
    let curves = vec![curve; 5];
    let panels = vec![Panel { title: "panel".into(), curves }];
    runs.chain([plot(&Plot { panels, ..Plot::default() })]).collect()
}

/// By property and colour, what it is on a dark screen.
fn shades(svg: &Document<'_>) -> BTreeMap<(String, String), String> {
    let style = svg.descendants().find(|node| node.has_tag_name("style")).unwrap();
    let text = style.text().unwrap();
    assert!(text.starts_with("@media (prefers-color-scheme: dark) {"), "{text}");
    let rules = text.lines().filter(|line| line.starts_with('['));
    rules
        .map(|rule| {
            let (selector, body) = rule.split_once(']').unwrap();
            let (property, light) = selector[1..].split_once('=').unwrap();
            let dark = body.trim_matches(['{', '}']).split_once(':').unwrap();
            assert_eq!(property, dark.0);
            ((property.into(), light.trim_matches('"').into()), dark.1.into())
        })
        .collect()
}

#[test]
fn every_colour_has_its_shade_on_a_dark_screen_and_no_other_is_told() {
    for written in pictures() {
        let svg = Document::parse(&written).unwrap();
        let attributes = svg.descendants().flat_map(|node| node.attributes());
        let used: BTreeSet<(String, String)> = attributes
            .filter(|it| ["fill", "stroke"].contains(&it.name()) && it.value() != "none")
            .map(|it| (it.name().into(), it.value().into()))
            .collect();
        assert_eq!(used, shades(&svg).into_keys().collect());
    }
}

/// How bright a colour is, by the definition of the WCAG.
fn luminance(colour: &str) -> f64 {
    let digits = colour.strip_prefix('#').unwrap();
    let long: String = match digits.len() {
        3 => digits.chars().flat_map(|digit| [digit; 2]).collect(),
        _ => digits.into(),
    };
    let part = |from: usize| {
        let value = f64::from(u8::from_str_radix(&long[from..from + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

#[test]
fn what_is_written_and_drawn_stands_out_in_both() {
    let mut compared = 0;
    for written in pictures() {
        let svg = Document::parse(&written).unwrap();
        let shades = shades(&svg);
        let dark = |property: &str, light: &str| &*shades[&(property.into(), light.into())];
        let mut stands_out = |property: &str, colour: &str, ground: &str, least: f64| {
            let both = [(colour, ground), (dark(property, colour), dark("fill", ground))];
            for (colour, ground) in both {
                let found = contrast(colour, ground);
                assert!(found >= least, "{property} {colour} on {ground}: {found:.2}");
                compared += 1;
            }
        };
        for text in svg.descendants().filter(|node| node.has_tag_name("text")) {
            // White is written on bars alone.
            let colour = text.attribute("fill").unwrap();
            let ground = if colour == "#fff" { "#3d3d3d" } else { "#fff" };
            stands_out("fill", colour, ground, 4.5);
        }
        let arrows = svg.descendants().filter(|node| node.attribute("class") == Some("arrow"));
        for arrow in arrows.filter_map(|node| node.attribute("stroke")) {
            // What is the background of others is faint on purpose.
            if arrow != "#b4b4b4" {
                stands_out("stroke", arrow, "#fff", 3.0);
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}
