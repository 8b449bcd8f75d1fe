"""The fixed words of reports. A public report consists of these, and of what its allow-list holds."""

from __future__ import annotations

from enum import StrEnum


class ReportWords(StrEnum):
    """Sentences and headings; places in braces are filled in."""

    NAME = "Report on a table about people"
    INTERNAL = "Internal report · holds figures of the original table · not for publication"
    PUBLIC = "Public report · holds nothing that the published table does not show"
    TITLE = "Report on {subject}"

    HOLDS = "Every promise holds"
    HOLDS_BEYOND = "Every promise holds; some attacks get further than was promised against"
    BROKEN = "A promise is broken: this table must not be published"
    UNDECIDED = "Not every promise can be decided from what is at hand"
    KEPT = "{kept} of {promises} promises hold."
    ATTACKED = "{attacks} attacks were tried on the published table; {won} got more than is allowed."
    ATTACKED_NONE = "{attacks} attacks were tried on the published table; none got more than is allowed."
    NOT_ATTACKED = "The published table was not at hand, so no attack was tried on it."

    CONTEXT = "Context: what was asked, and who could attack"
    CONTEXT_LEAD = "In the order of ISO/IEC 27559:2022: context assessment (clause 6)"
    DATA = "Data: what is in the table"
    DATA_LEAD = "Data assessment (clause 7)"
    IDENTIFIABILITY = "Identifiability: what attackers get, and what was done about it"
    IDENTIFIABILITY_LEAD = "Identifiability assessment and mitigation (clause 8)"
    GOVERNANCE = "Governance: what was decided, by which rules, and what to watch"
    GOVERNANCE_LEAD = "De-identification governance (clause 9)"
    SINGLING_OUT = "Singling out: can a person's record be picked out?"
    LINKABILITY = "Linkability: can records about one person be put together?"
    INFERENCE = "Inference: can something secret be concluded about a person?"
    CRITERION_LEAD = "One of the three criteria of the Article 29 Working Party, Opinion 05/2014 (WP216)"
    CRITERION_HELD = (
        "Promises and attacks that concern this criterion: all promises hold, no attack gets further."
    )
    CRITERION_OPEN = (
        "An attack gets further here, or something is not decided: see below, and assess that risk."
    )
    CRITERION_NONE = "No promise of the policy speaks of this, and no attack on it had anything to strike."

    PROMISE = "Promise"
    IN_WORDS = "In plain words"
    LEFT_OPEN = "What it leaves open"
    VERDICT = "Verdict"
    MEASURED = "Measured"
    ASKED = "Asked"
    WHO = "Attack"
    KNOWS = "Knows"
    SEEKS = "Seeks"
    BEFORE = "On the original"
    AFTER = "On the published table"
    RESULT = "Result"
    CHANCE = "Best chance"
    HOLDS_WORD = "holds"
    BROKEN_WORD = "BROKEN"
    OPEN_WORD = "not decidable"
    WITHSTOOD = "withstood"
    WITHSTOOD_IN_PART = "withstood as far as tried"
    BREACH = "gets further"
    PROMISED = "What was promised"
    ADVERSARIES = "Who could attack, and what they know"
    NO_ORIGINAL = (
        "What the same attackers would get from the original table is left out: it was not handed in."
    )
    OUTCOME = "What the promises came to"
    STRUCK = "What attackers get from the published table"
    BEFORE_AND_AFTER = "What attackers get, before and after"
    COLUMNS_HEAD = "What became of every column"
    BEFORE_SUMMARY = "From the original, {won} of {attacks} attacks would get more than is allowed."
    ADVERSARY_NOTE = "Nothing but the published table was given to these attackers, with what each knows."

    COLUMN = "Column"
    ROLE = "Role"
    PUBLISHED = "Published"
    FORM = "Published as"
    EXAMPLE = "Example"
    EXAMPLE_NOTE = "Examples are made up, or come from the policy's hierarchies; none is taken from a row."
    PUBLIC_EXAMPLE_NOTE = "Examples stand in the published table."
    READING = "How to read it"
    CHANGE = "What became of it"
    FILE = "File"
    ROWS = "Rows published"
    COLUMNS = "Columns published"
    CLASSES = "Groups of rows that look alike"
    SMALLEST = "The smallest of these groups"
    SOURCE_ROWS = "Rows of the original"
    SUPPRESSED = "Rows left out"
    LOSS = "Loss, as the policy measures it"
    SEARCH = "Found by"
    ROWS_ARE = "A row is"
    KEPT_CHART = "Share of rows whose value still tells something, by column"
    KEPT_NOTE = "A cell tells nothing where it reads *."
    LOST = "What was lost"
    CELLS_LOST = "Key cells that tell nothing"
    QUERIES = "Counting queries: median error, and what a tenth of them exceeds"
    MODEL = "A model trained on the published table"
    NOT_COMPARED = (
        "The original was not handed in, so losses are told as far as the published table shows them."
    )

    POLICY_DIGEST = "Digest of the policy (SHA-256)"
    FILE_DIGEST = "Digest of the table (SHA-256)"
    MANIFEST_DIGEST = "Digest of the manifest (SHA-256)"
    ENTRY = "Entry of the ledger"
    ENTRY_HASH = "Hash of the entry"
    SIGNER = "Signed with the key"
    RELEASED = "Released"
    RELEASE = "Release"
    RELEASE_OF = "{sequence} of chain {chain}"
    RECIPIENT = "For"
    MADE = "Report made"
    VERSIONS = "Software"
    FINGERPRINT = "Fingerprint of this report (SHA-256 of its findings)"
    POLICY_TEXT = "The policy, word for word"
    UNSIGNED = "There is no certificate: who published this table is not attested."
    CERTIFIED = (
        "The files are those of the certificate; compare the key with the publisher's before trusting it."
    )
    LIMITS = "Limits of this report"
    LIMIT_KNOWLEDGE = (
        "It speaks of attackers who know what is named here. Whoever knows more may get further."
    )
    LIMIT_OTHERS = "It does not count tables that others publish about the same people, now or later."
    LIMIT_POLICY = (
        "It takes roles and hierarchies of columns as the policy declares them. A column that was taken "
        "to be harmless and is not, is not noticed here."
    )
    LIMIT_LAW = (
        "It is evidence for an assessment and no legal opinion: whether data are anonymous in the sense "
        "of a law depends on means that no table shows."
    )
    LIMIT_AGAIN = (
        "Assess again when the table is released anew, when more is known to others, or when attacks get "
        "better."
    )
    SIGN_OFFICER = "Data protection officer: name, date, signature"
    SIGN_OWNER = "Owner of the data: name, date, signature"
    PUBLIC_NOTE = (
        "Figures of the original table, rows that were left out and columns that were dropped are not "
        "part of a public report. Every number and text of it was looked up in what is published before "
        "it was written."
    )
    FOOTER = "Made by Sfumato. A self-contained page: nothing is loaded from anywhere."
    IN_WORDS_ROW = "about another person each"
    IN_WORDS_ROWS = "not a person: somebody may have several rows, and promises count people"
    NONE = "–"
    UNCHANGED = "as it is"
    GENERALIZED = "made less exact"
    GENERALIZED_SO = "made less exact; {how}"
    DROPPED = "not published"
