-- What each table and type of schema rag means, and each column whose name does not say it.
--
-- Here and not in the revisions, so that an upgrade mends what an older release wrote, and what
-- pg_restore --no-comments left out. A comment that is right is not written again, which would lock
-- the table against its vacuum for a moment. A row: the table or type, what it is, columns of it.

DO $do$
DECLARE
    _comment record;
BEGIN
    FOR _comment IN
        WITH written (relation, about, listed) AS (VALUES
('collections',
 'A corpus: its default language, its chunking and its BM25 parameters.',
$$collection_id  number of the collection, which names its partitions
name  as callers write it; free again once the collection is dropped
language  default text search configuration, by name (a regconfig column would stop pg_upgrade)
chunking  how documents are cut into chunks: method and sizes in tokens
k1  BM25: how soon further occurrences of a word count less
b  BM25: how much long chunks are held back, 0 to 1
dropped_at  when it was dropped; its empty partitions await removal
description  what the documents are and what they answer; '' where nobody said it
keep_versions  how long texts that were replaced or deleted stay; 0: not at all
keep_answers  how long answers are logged with their questions; 0: not at all
sample_queries  share of searches that is kept to be replayed; 0: none
recall_target  share of the nearest that vector searches are to find, measured daily; 0: none
lexer_version  of what made lexemes of its chunks, the oldest while they are lexed anew
index_format  how its keyword index is stored
keep_original  whether the files that documents are made from are stored, too
copy_of  collection_id of the collection that this is a temporary copy of; NULL: of none
tenant  whose it is; '': no tenant's; *: shared, each document has its own$$),
('document_versions',
 'Texts that documents had before they were replaced or deleted.
Kept where the collection keeps versions.',
$$version  number of the version, as rag.documents counts them
language  its text search configuration then; NULL for the collection's
valid_from  since when it read so; NULL where nobody knows it
valid_until  when it was replaced or deleted
deleted  whether it was deleted, not replaced
from_commit  row of rag.version_commits of the transaction that wrote it
until_commit  that of the transaction that replaced or deleted it$$),
('answer_log',
 'Answers with their questions and citations.
Kept where the collection keeps answers.',
$$answer_id  the trace id of the answer
tenant  whose it is, for policies
sufficient  whether what was found was judged enough; NULL where nobody judged
reason  why it is not found, or not whole
retrieved  uris of the documents that were found for it
cost  US dollars; NULL where a price is not known$$),
('live_queries',
 'A sample of searches, to be replayed.
Kept where the collection says so; what was found is not kept.',
$$searched_at  when it was kept, seconds after the search
query_text  what was asked; NULL where words are not kept
embedding  its vector; NULL where keywords alone were searched$$),
('recall_measures',
 'How much of the nearest vector searches found, as measured.
The last 100 of each collection.',
$$source  live (sampled live queries) or stored (vectors of chunks)
walked_count  of how many of them the index was walked
k  of how many of the nearest
recall  share of them that was found, the mean
lower_bound  of its 95 % interval
upper_bound  of its 95 % interval
set_ef_search  what was set for the space; NULL: chosen by size
advised_ef_search  the first value tried that reaches the target, else the last; NULL: no trial$$),
('answer_feedback',
 'What people say of logged answers.
Gone with the answer.',
$$rating  1 (thumb up) or -1 (thumb down)
citation  number of the citation that is meant; NULL: the whole answer
comment  what was said; '' for nothing$$),
('erasures',
 'Receipts of erasures.
None of the erased text is in them.',
$$document_hashes  SHA-256 of the uri of each document, in hexadecimal digits
removed  how many rows went, by table; keyword_blocks: blocks of the keyword index rewritten
settled_at  when it was first seen to be committed; NULL: nobody has looked since$$),
('spaces',
 'An embedding space: one model''s vectors of one collection.
It is kept up to date until it is dropped.',
$$space_id  number of the space, which names its partition of embeddings
model  provider and model, e.g. gemini:gemini-embedding-001
fingerprint  weights, precision, length and pooling of the first embedder that opened the space
distance  cosine, l2 or ip
index_options  kind of the vector index and its settings; {} for the defaults
state  building, active (searched) or retired (was active)
dropped_at  when it was dropped; its empty partition awaits removal
similarity_mean  mean of the cosines between its own vectors, by a sample; NULL: not measured
similarity_spread  their standard deviation, 0.008 to 0.3; a hybrid search weighs cosines by it
measured_chunks  chunks of the collection when that was measured; again when they have doubled
ef_search  how widely its index is searched; NULL: chosen by the number of chunks$$),
('exposed_views',
 'Views of the application''s own tables that may be asked (rag.expose_view).',
$$view_name  the view, materialized view or table
description  what one row is
columns  those that are exposed: name, type when they were exposed, description
max_rows  rows or groups that one query returns at most
fingerprint  digest of the view's definition and options when it was exposed$$),
('fields',
 'Metadata fields declared by rag.index_field.
Each has indexes on the collection''s partitions.',
$$field  dotted path, as rag._field_name writes it
type  text, numeric, timestamptz or boolean$$),
('collection_changes',
 'What was written to collections, as numbers whose exclusive or is a part of the version.
Folded into one row per collection now and then.',
$$change  a random number, or the exclusive or of several$$),
('cache_entries',
 'What was computed once and is computed no more while it holds: query vectors, calls of models,
results of searches, answers. Unlogged: a crash of the server empties it.',
$$role_id  whose entry it is; no other role reads it
kind  embedding, completion, search or answer
key  SHA-256 of all that it depends on beside the collection
collection_id  collection that it depends on; 0: none
version  of the collection and the session's settings: rag._cache_version
value  what the client that wrote it reads
question  of an answer, where similar questions may be given it
scope  SHA-256 of all that it depends on beside the question; NULL: only equal questions
used_at  when it was last read, to the minute or so$$),
('cache_uses',
 'Uses of the cache as clients counted them, several rows of a kind; rag.cache_stats adds them up.',
$$collection_id  collection of the entries; 0: none$$),
('documents',
 'Documents as they were put.',
$$document_id  derived from the collection's name and the uri (rag.document_id)
title  shown with hits and embedded with every chunk
media_type  decides how the text is cut, e.g. text/markdown
language  text search configuration, by name; NULL: the collection's
metadata  what filters, facets and boosts read: given_metadata, then what was found (enriched)
tenant  whose it is in a shared collection; '': nobody's; *: every tenant's
acl  groups that may read it, as tenant/group; NULL: the whole tenant
content_hash  SHA-256 of what is indexed: an equal one means that nothing has to be done
indexed_version  the version whose chunks are searchable; 0: none yet
given_metadata  what the caller gave, front matter with it; NULL: all of metadata
enriched  what rules (enrich) and a model (extract) found: fields, version of the settings
text_since  since when it reads as it does; NULL: of before this was noted
text_commit  row of rag.version_commits of the transaction that wrote it; NULL: of no history
sync_state  by what a sync knows the same bytes; NULL: it was written otherwise since$$),
('version_commits',
 'When transactions that wrote versions of documents were committed.
Kept where a collection keeps versions or answers.',
$$written_by  the transaction, while it is open
committed_at  when it was committed; NULL while it is open$$),
('chunks',
 'Spans of documents: what is embedded, indexed and found.',
$$ordinal  position in its document
start_offset  first character in the document's content, from 0; NULL: brought ready-made
stop_offset  character after the last one; NULL: brought ready-made
heading  path of headings above it
content_hash  SHA-256 of the text that is embedded: title, heading, content
metadata  the document's, and the chunk's own beside it
tenant  its document's
acl  its document's
language  text search configuration, by name; NULL: the collection's
lexeme_count  length in BM25: the number of lexeme positions
enriched  what rules found for this chunk alone, which is in metadata too
context  what a model wrote about its place in the document; embedded and lexed before content
context_source  the document's text and the settings that the context was written for$$),
('embeddings',
 'Vectors, one partition per embedding space: dimensions are checked and indexed there.',
$$embedding  the vector, half precision$$),
('jobs',
 'Work that is not done. A finished job is deleted; one whose lease expired is taken again.',
$$job_id  number of the job, in the order of queueing
kind  ingest: chunk it, embed what is new; embed: for one space; else a kind of rag.enrichments
space_id  space that lacks vectors, of kind embed only
state  waiting (running while it has a lease that has not expired) or dead
priority  larger is taken first
attempts  how often it was taken; one that is handed back does not count
lease  token that only its worker knows; NULL: nobody works on it
lease_expires_at  until when the worker must extend the lease or finish
errors  its failures, oldest first
traceparent  span that it was put in, as W3C trace context; NULL: nobody traced that$$),
('backlogs',
 'Collections whose documents are queued in batches, after a change that concerns all of them.',
$$kind  ingest after a change of the chunking, embed for a space, else a kind of rag.enrichments
space_id  space that is filled, of kind embed only
after_document  queued up to this document, in the order of document_id
fence  transactions from this one on know the space$$),
('enrichments',
 'What a collection''s documents are enriched with.',
$$kind  enrich: rules find fields; extract: a model does; context: a model writes chunks' contexts
settings  the rules, or the fields and the model; '[]' or '{}': none any more$$),
('budgets',
 'What a provider of models may be asked, by all workers together. NULL is no limit.',
$$provider  a model's name up to the colon
spend_cap  units that may be spent in a period
spend_period  day (UTC) or total
token_price  units per million tokens
blocked_until  nobody asks before that time, as after a 429$$),
('usage',
 'What models were asked and what it cost, by day. Written by rag.record_usage.',
$$day  day of the calls (UTC)
call_kind  what the calls were for: answer, helper, rewrite, verify, rerank, …
slot  one of 8 rows of the same figures, so that writers seldom wait for each other
answers  answers, counted with the first kind of call of each
cost  US dollars, by list prices
unpriced_calls  calls of a model whose price is not known; they are not in cost
cached_hits  calls that were not made, for a cache knew their reply
failures  calls without a usable reply$$),
('workers',
 'Workers that run, as their heartbeats report them.',
$$collections  those it works for; NULL: all$$),
('installed',
 'What the last upgrade installed, read by rag-pg db check.',
$$kind  release, replaced, file (of sql/), function, table, or pgvector
name  version, digest that was replaced, path below sql/, signature, object, or pgvector's schema
digest  SHA-256 of all files, a file or a function, definition of a table's part$$),
('access_grants',
 'Which rights rag.grant_access gave to which roles: every upgrade gives them again.',
$$role_name  the role
access  the kind of use$$),
('tenants',
 'Whose collections there are.', ''),
('tenant_roles',
 'Which login roles are of which tenant: only the owner of the tables writes it.',
$$role_name  the role, as session_user names it
tenant  the tenant; *: the one that an application names for a transaction
access  reader, or writer, which also puts and deletes documents
groups  of the tenant, in which the role is: access lists of documents name them$$),
('locations',
 'What collections are synced with by workers; only the owner of the tables attaches one.',
$$location  an address without credentials
options  of its kind: numbers
every  from the end of a sync to the next
due_at  when the next begins
worker  who syncs it now, until lease_expires_at
result  counts of the last sync that could list it
last_error  what kept the last sync from listing it; NULL: nothing$$),
('service_keys',
 'Keys of the HTTP service: only the owner of the tables reads and writes them.',
$$key_name  what logs call it
digest  SHA-256 of the secret, which is kept nowhere
role_name  whose rights its statements have; NULL: those of the service
scopes  what it may: read, ask, write, operate
settings  what holds in its transactions, for policies
limits  requests, tokens and US dollars per minute and day; {}: none
expires_at  NULL: never
revoked_at  NULL: it was not$$),
('service_key_uses',
 'What each key of the HTTP service has used in its last minute and day.',
$$period  minute or day, which began at since (UTC)
requests  that were not refused
tokens  of prompts and answers
cost  US dollars$$),
('alembic_version',
 'The revision of the tables, written by Alembic.', ''),
('maintenance_failures',
 'Steps of maintenance that failed when they were last tried.',
$$task  the step, as rag.maintenance_steps names it
target  collection or source that it was about; 0: none$$),
('maintenance_runs',
 'When each step of maintenance was last done.',
$$task  the step, as rag.maintenance_steps names it$$),
('document_info',
 'A document as it is shown.',
$$content  the whole text; NULL in lists
language  text search configuration; NULL: the collection's
metadata  what filters, facets and boosts read
state  ready, pending (work is queued) or failed$$),
('hit',
 'One search result.
Ranks start at 1; that of a leg that did not find the chunk, or was skipped, is NULL.
vector_distance and keyword_score are there wherever they were computed: weighted and auto fusion
compute both for every candidate.',
$$score  larger is better, comparable within one call only
vector_distance  distance to the query's vector: smaller is nearer
keyword_score  BM25 score$$),
('collection_info',
 'A collection as it is listed: its settings and its active embedding space.',
$$distance  cosine, l2 or ip
fingerprint  of the first embedder that opened the space; NULL: none yet
description  what the documents are and what they answer; '' where nobody said it
keep_versions  seconds for which texts that were replaced or deleted stay
keep_answers  seconds for which answers are logged
keep_queries  seconds for which they are kept
recall_target  share of the nearest that vector searches are to find; 0: not measured
ef_search  how widely the active space's index is searched; NULL: chosen by size
keep_original  whether the files that documents are made from are stored, too$$),
('metric',
 'A figure for monitoring, see rag.metrics.',
$$kind  gauge or counter$$),
('finding',
 'What a check of rag.doctor found.',
$$check_name  which check
status  ok, warn or fail
remedy  what to do about it; NULL where all is well$$),
('status_line',
 'A line of rag.status.',
$$topic  release, collection, queue, worker or finding
name  of what the line is about; NULL: there is none$$),
('candidate',
 'A chunk that a search may return: rag.hit without its document.',
$$score  larger is better, comparable within one call only
vector_distance  distance to the query's vector: smaller is nearer
keyword_score  BM25 score$$),
('search_arguments',
 'The arguments of a search, checked by rag._check_search_arguments; rag.search describes them.',
$$query_text  NULL: no keyword leg
query_embedding  NULL: no vector leg
filter_sql  the filter as SQL, from rag._compile_filter; NULL: none
filter_undeclared  fields of the filter that are not declared$$),
('originals',
 'The files that documents were made from, where they are kept.',
$$size  in bytes, at most 100,000,000$$),
('keyword_changes',
 'Chunks written or deleted since the last merge.
A merge takes them away. Writers append here and touch nothing else, so they never wait for one
another.',
$$change  +1 written, -1 deleted
lexeme_count  its length in BM25
lexemes  of deleted chunks only: a written one still has its own$$),
('keyword_slots',
 'The merged chunks by slot: the dense number by which postings name a chunk.
Block n holds the slots 16000 n to 16000 n + 15999. A deleted chunk keeps its slot until
compaction takes its block apart; the block is then free and used again, so slot numbers do not
run out.',
$$slot  number of the chunk in postings$$),
('keyword_postings',
 'Which chunks of a segment contain a lexeme, deleted ones included.
In one of three forms. One posting only (two rows in three): in the row itself. Rare lexemes, and
all of an open segment: in postings; a lexeme has one such row per merge until its block is full,
one row afterwards. Frequent lexemes of a sealed segment: in weights, which pgvector adds up.
Weights select candidates; scores come from the chunks.',
$$segment  first slot of the segment
posting_or_count  the single posting (rag._posting), else minus the number of chunks
idf  inverse document frequency with which the weights were computed
top  the largest of the weights
postings  exact: slot, length and frequency of each chunk (rag._posting)
weights  at slot within the block + 1: thousandths of the BM25 contribution, rounded up$$),
('keyword_removed',
 'How many deleted chunks the postings of a lexeme still count.
Written by merges and compaction only. Live document frequency = chunks of all segments - removed
+ fresh changes (rag._chunk_counts), so it is exact before any compaction.',
$$chunk_count  deleted chunks that its postings still count$$),
('keyword_segments',
 'The segments of each collection; none reaches beyond its block of 16,000 slots.',
$$segment  its first slot
sealed  whether its frequent lexemes have become weights for good
average_length  of a chunk, when the segment was made
k1  BM25 parameter when the segment was made
b  BM25 parameter when the segment was made$$),
('keyword_totals',
 'Live merged chunks of a collection, one row each, written under rag._lock_keyword only.
Live number of chunks = chunk_count + fresh changes.',
$$next_slot  next slot of the block that grows; at the beginning of a block, none grows
relexed_by  version of the lexer by which all chunks are lexed anew; NULL: they are not
relexed_to  the highest chunk_id that this has reached
relexed  how many chunks it has looked at$$),
('keyword_languages',
 'Text search configurations that a collection''s chunks have used besides its own.
A query is lexed by each. Repeated rows are harmless: two writers may add the same one at once.',
$$language  text search configuration, by name$$),
('ordinary_words',
 'The most frequent words of a language, which typo tolerance takes for no errors.
Made from wordfreq (CC BY-SA 4.0); written by an upgrade, read by rag._ordinary_words.',
$$filter  Bloom filter of the words: 10 bits a word, 7 of them set$$),
('scored_chunk',
 'A chunk and its BM25 score.',
$$score  BM25: larger is better$$),
('keyword_query',
 'A lexed query with the live statistics of one collection, made by rag._prepare_keyword.
Its arrays have one entry per lexeme, the weightiest first.',
$$query_frequencies  query term frequency: how often the query contains the lexeme
chunk_counts  live document frequency
factors  weight × query term frequency × idf
k1  BM25 parameter
b  BM25 parameter
fresh_chunks  written and not yet merged, to be scored one by one
weights  1, or 0.7 for one that stands for a mistyped word
mistyped  the word of the query, which no chunk has, that the lexeme stands for; NULL: its own
spellings  a word of the lexeme; NULL: as in the query$$),
('sources',
 'Tables of applications that collections follow. The triggers on a table name the source:
where they are is where the table is.',
$$source_id  number of the source, which names its triggers
table_name  name when it was attached, for messages
definition  what rows become documents and how; columns as [name, attnum]
phase  backfill (every row is read once), sweep, follow, or remove (detached: documents go)
reached  last key of the backfill, or last document of the sweep
rows_failed  rows that could not become documents
row_error  the last such row's error
broken  why nothing is followed until it is mended
followed_at  when a worker last had nothing left to do$$),
('source_changes',
 'Keys of rows that were written and are not followed yet: all that the triggers write.',
$$change_id  number of the change, in the order of writing
key  the row's key; NULL: every row is read again
reason  why a key is not known, where the trigger could not tell which rows changed$$),
('source_documents',
 'The documents that a source has put, and the keys of their rows.', ''),
('worker_calls',
 'What somebody waits for now: a question to embed or to answer.
Who asked deletes it; what nobody reads expires. Unlogged: no commit of it waits for the disk.',
$$kind  embed_query or ask
result  the answer, once there is one
worker  who took it; NULL: nobody yet$$),
('calibrations',
 'With which evidence the answers of a collection are right, and how often.',
$$space_id  its active space then: the calibration holds for that
model_fingerprint  of the embedder, as the space has it
set_name  set of questions that it was measured on; empty: not told
settings  how it was asked, e.g. limit and release
features  names of what answers are judged by
answerable_weights  intercept and weights of the probability that the documents answer
right_weights  intercept and weights of the probability that the answer then is right
evidence_floor  evidence that questions with an answer have; less counts against both
thresholds  of the support (both probabilities multiplied), ascending
answered  how many questions have that support or more
lower_bounds  of the share of right answers, exact, 95 %
refuse_below  of the probability that the documents answer: less is refused
answer_from  with this support an answer stands as it is; in between it is hedged
context_ratio  passages with at least this share of the best hit's score are shown; NULL: all
figures  what was measured on the way, by name
with_judgement  whether a language model's judgement is among the features
judge_model  the model that judges; NULL: none
corpus_fingerprint  of the documents then (rag._corpus_fingerprint)$$),
('eval_sets',
 'A set of questions with what is right for them, for any collection.', ''),
('eval_queries',
 'A question of a set, and what is expected of its answer.',
$$category  measures are given for each as well; empty: none
source  who wrote it: human, synthetic (a model), feedback (of users) or log (questions of users)
unanswerable  whether the documents do not answer it
answers  right answers, each enough by itself
expected_terms  texts that the answer, or without one the hits, must hold
expected_metadata  a filter that the metadata of a hit must pass; {} for none$$),
('eval_judgements',
 'A document or a passage of it that is relevant to a question. It names no chunk: chunks are found
anew whenever a run is recorded.',
$$judgement_number  order of the judgements of a question
quote  text of the passage; NULL: the whole document, or what the offsets say
start_offset  where the passage begins, in characters of the document
grade  how relevant: above 0 is relevant$$),
('eval_embeddings',
 'Vectors of questions, so that SQL alone can run a set again.',
$$fingerprint  of the embedder, as a space has it$$),
('eval_runs',
 'A set that was run on a collection with certain settings.',
$$name  label of the caller; may be empty
kind  search or ask
settings  options of the search or the answer
corpus_fingerprint  of the documents (rag._corpus_fingerprint)
notes  what was degraded, e.g. questions that were searched for by keywords alone
finished_at  when it ended; NULL: it runs, or was interrupted$$),
('eval_results',
 'What a run found for one question, judged when it was recorded.',
$$category  of the question, as it was then
unanswerable  whether the documents do not answer it, as it was then
hits  uri, chunk_id, start, stop, score and grade of each hit, best first
grades  of the ranked documents, or of the ranked chunks where a passage is judged; 0: not relevant
judgement_grades  of what is relevant to the question
judgement_ranks  where each of these was found first, from 1; NULL: not found
unresolved  judgements that no longer describe the corpus
confidence  how sure the answer is, larger is surer; what abstention is measured by
answered  false: it was said that the documents do not answer; NULL: a search
answer_f1  the best token F1 with one of the right ones
assertions  each expectation with whether it was met: terms, metadata, min_score
cost  US dollars; NULL: not known$$),
('eval_scores',
 'What a judge says of one result of a run.',
$$judge_version  changes with its prompt and its model
score  0 to 1, larger is better
scored_at  when it was said last; of a judge's versions the one that said something last counts$$),
('gates',
 'What a collection demands of its changes: that a metric on a set does not fall.',
$$options  arguments of rag.search that are measured with$$),
('gate_checks',
 'What gates decided. Changes that are refused are rolled back: a client records them after that.',
$$action  change, or runs that were compared
outcome  passed, failed (a run), refused or forced (a change)
details  figures of each gate and category, with the questions that lost most$$),
('eval_verdicts',
 'Verdicts of judging models, kept so that none is asked twice.',
$$prompt_hash  SHA-256 of model and prompt
verdict  score, reason and tokens$$),
('eval_judges',
 'How well a judge agrees with people, by a labelled sample. A judge without a row is advisory.',
$$accuracy_low  lower bound of its 95 % interval (Clopper and Pearson)
kappa  agreement beyond chance (Cohen); NULL where one side gave one label alone$$)
        ), comments AS (
            SELECT w.relation, NULL AS column_name, w.about AS comment FROM written AS w
            UNION ALL
            SELECT w.relation, split_part(l.line, '  ', 1), split_part(l.line, '  ', 2)
            FROM written AS w, string_to_table(w.listed, chr(10)) AS l (line)
        )
        SELECT CASE WHEN a.attname IS NOT NULL THEN format('COLUMN rag.%I.%I', c.relname, a.attname)
                    WHEN c.relkind = 'c' THEN format('TYPE rag.%I', c.relname)
                    ELSE format('TABLE rag.%I', c.relname) END AS object,
               s.comment
        FROM comments AS s
        JOIN pg_class AS c ON c.relnamespace = 'rag'::regnamespace AND c.relname = s.relation
        LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = s.column_name
            AND a.attnum > 0
        WHERE (s.column_name IS NULL) = (a.attname IS NULL)  -- what is missing is told by db check
            AND s.comment IS DISTINCT FROM CASE
                WHEN a.attname IS NOT NULL THEN col_description(c.oid, a.attnum)
                WHEN c.relkind = 'c' THEN obj_description(c.reltype, 'pg_type')
                ELSE obj_description(c.oid, 'pg_class') END
    LOOP
        EXECUTE format('COMMENT ON %s IS %L', _comment.object, _comment.comment);
    END LOOP;
    -- Whoever installs may have been given a schema that another role owns.
    IF (SELECT pg_has_role(n.nspowner, 'USAGE')
        FROM pg_namespace AS n WHERE n.nspname = 'rag') THEN
        COMMENT ON SCHEMA rag IS
'RAG inside PostgreSQL: documents, chunks, vectors and keywords, searched by functions.
Begin with SELECT * FROM rag.help(). The functions are the interface; those whose names begin with _
are internal, and so are the tables. docs/reference/sql-api.md lists every function.';
    END IF;
END $do$;
