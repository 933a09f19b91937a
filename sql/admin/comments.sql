-- What each table, type and column of schema rag means, kept as comments in the catalogue.
--
-- Here and not in the revisions, so that an upgrade mends what an older release wrote, and what
-- pg_restore --no-comments left out. A comment that is right is not written again, which would lock
-- the table against its vacuum for a moment. A row: the table or type, what it is, its columns.

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
created_at  when it was made
description  what the documents are and what they answer; '' where nobody said it
keep_versions  how long texts that were replaced or deleted stay; 0: not at all
keep_answers  how long answers are logged with their questions; 0: not at all
sample_queries  share of searches that is kept to be replayed; 0: none
keep_query_text  whether their words are kept beside their vectors
keep_queries  how long they are kept
max_queries  how many of them are kept at most
recall_target  share of the nearest that vector searches are to find, measured daily; 0: none
keep_original  whether the files that documents are made from are stored, too$$),
('document_versions',
 'Texts that documents had before they were replaced or deleted.
Kept where the collection keeps versions.',
$$collection_id  collection of the document
document_id  the document, which may be gone
version  number of the version, as rag.documents counts them
uri  the document's
title  its title then
content  its text then
media_type  its media type then
language  its text search configuration then; NULL for the collection's
metadata  its metadata when the text was replaced
tenant  whose the document is
created_at  when the document was made
updated_at  when it was last changed before
valid_from  since when it read so; NULL where nobody knows it
valid_until  when it was replaced or deleted
deleted  whether it was deleted, not replaced
from_commit  row of rag.version_commits of the transaction that wrote it
until_commit  that of the transaction that replaced or deleted it$$),
('answer_log',
 'Answers with their questions and citations.
Kept where the collection keeps answers.',
$$answer_id  the trace id of the answer
collection_id  collection that was asked
tenant  whose it is, for policies
role_name  the database role that asked
answered_at  when it was answered
question  what was asked
answer  what was answered
found  whether the documents answer it
sufficient  whether what was found was judged enough; NULL where nobody judged
reason  why it is not found, or not whole
strategy  what made the answer
model  what wrote its text
citations  its citations as rag.ask returns them
retrieved  uris of the documents that were found for it
notes  what was degraded
prompt_tokens  tokens that models read for it
answer_tokens  tokens that they wrote
cost  US dollars; NULL where a price is not known
seconds  how long it took$$),
('live_queries',
 'A sample of searches, to be replayed.
Kept where the collection says so; what was found is not kept.',
$$query_id  number of the query
collection_id  collection that was searched
searched_at  when it was kept, seconds after the search
query_text  what was asked; NULL where words are not kept
embedding  its vector; NULL where keywords alone were searched
space_id  embedding space whose model made the vector
result_limit  how many hits were wanted
metadata_filter  filter of the search
options  other arguments of the search$$),
('recall_measures',
 'How much of the nearest vector searches found, as measured.
The last 100 of each collection.',
$$measure_id  number of the measure
collection_id  collection that was searched
space_id  embedding space that was active
measured_at  when
source  live (sampled live queries) or stored (vectors of chunks)
query_count  how many queries were run
walked_count  of how many of them the index was walked
k  of how many of the nearest
recall  share of them that was found, the mean
lower_bound  of its 95 % interval
upper_bound  of its 95 % interval
target  share that is wanted
chunk_count  chunks of the collection then
ef_search  how widely a search without a filter walked the index
set_ef_search  what was set for the space; NULL: chosen by size
advised_ef_search  the first value tried that reaches the target, or the last; NULL: none was tried
advised_recall  recall with it$$),
('answer_feedback',
 'What people say of logged answers.
Gone with the answer.',
$$feedback_id  number of the note
answer_id  the answer
collection_id  its collection
rating  1 (thumb up) or -1 (thumb down)
citation  number of the citation that is meant; NULL: the whole answer
comment  what was said; '' for nothing
given_by  the database role that said it
given_at  when$$),
('erasures',
 'Receipts of erasures.
None of the erased text is in them.',
$$erasure_id  number of the receipt
collection  name of the collection
document_hashes  SHA-256 of the uri of each document, in hexadecimal digits
removed  how many rows went, by table; keyword_blocks: blocks of the keyword index rewritten
erased_by  the database role that erased
erased_at  when
settled_at  when it was first seen to be committed; NULL: nobody has looked since$$),
('spaces',
 'An embedding space: one model''s vectors of one collection.
It is kept up to date until it is dropped.',
$$space_id  number of the space, which names its partition of embeddings
collection_id  collection whose chunks it embeds
model  provider and model, e.g. gemini:gemini-embedding-001
fingerprint  weights, precision, length and pooling of the first embedder that opened the space
dimensions  length of its vectors
distance  cosine, l2 or ip
index_options  kind of the vector index and its settings; {} for the defaults
state  building, active (searched) or retired (was active)
created_at  when it was made
activated_at  when it was last made the one that is searched
dropped_at  when it was dropped; its empty partition awaits removal
similarity_mean  mean of the cosines between its own vectors, by a sample; NULL: not measured
similarity_spread  their standard deviation, 0.008 to 0.3; a hybrid search weighs cosines by it
measured_chunks  chunks of the collection when that was measured; again when they have doubled
ef_search  how widely its index is searched; NULL: chosen by the number of chunks$$),
('exposed_views',
 'Views of the application''s own tables that may be asked (rag.expose_view).',
$$name  by which rag.query_view is asked
schema_name  schema of the view
view_name  the view, materialized view or table
description  what one row is
columns  those that are exposed: name, type when they were exposed, description
max_rows  rows or groups that one query returns at most
timeout  statement_timeout that a client sets for one query
fingerprint  digest of the view's definition and options when it was exposed
exposed_at  when it was last exposed$$),
('fields',
 'Metadata fields declared by rag.index_field.
Each has indexes on the collection''s partitions.',
$$collection_id  collection whose metadata it is
field  dotted path, as rag._field_name writes it
type  text, numeric, timestamptz or boolean$$),
('collection_changes',
 'What was written to collections, as numbers whose exclusive or is a part of the version.
Folded into one row per collection now and then.',
$$collection_id  collection that was changed
change  a random number, or the exclusive or of several$$),
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
embedding  vector of the question
saved_tokens  tokens that a hit saves
saved_cost  US dollars that a hit saves
created_at  when it was written
used_at  when it was last read, to the minute or so
expires_at  when it is no longer read$$),
('cache_uses',
 'Uses of the cache as clients counted them, several rows of a kind; rag.cache_stats adds them up.',
$$kind  of the entries
collection_id  collection of the entries; 0: none
hits  how often an entry was found
misses  how often there was none
saved_tokens  tokens saved by hits
saved_cost  US dollars saved by hits$$),
('documents',
 'Documents as they were put.',
$$collection_id  collection that the document is in
document_id  derived from the collection's name and the uri (rag.document_id)
uri  the caller's name of the document, unique in its collection
title  shown with hits and embedded with every chunk
content  the whole text
media_type  decides how the text is cut, e.g. text/markdown
language  text search configuration, by name; NULL: the collection's
metadata  what filters, facets and boosts read: given_metadata, then what was found (enriched)
tenant  reserved: always empty
content_hash  SHA-256 of what is indexed: an equal one means that nothing has to be done
version  counts changes of the text
indexed_version  the version whose chunks are searchable; 0: none yet
created_at  when it was first put
updated_at  when it was last changed
given_metadata  what the caller gave, front matter with it; NULL: all of metadata
enriched  what rules (enrich) and a model (extract) found: fields, version of the settings
text_since  since when it reads as it does; NULL: of before this was noted
text_commit  row of rag.version_commits of the transaction that wrote it; NULL: of no history$$),
('version_commits',
 'When transactions that wrote versions of documents were committed.
Kept where a collection keeps versions or answers.',
$$commit_id  its number
written_by  the transaction, while it is open
committed_at  when it was committed; NULL while it is open$$),
('chunks',
 'Spans of documents: what is embedded, indexed and found.',
$$collection_id  collection that the chunk is in
chunk_id  number of the chunk, never used again
document_id  document that it is a span of
ordinal  position in its document
start_offset  first character in the document's content, from 0; NULL: brought ready-made
stop_offset  character after the last one; NULL: brought ready-made
heading  path of headings above it
content  the text of the span
content_hash  SHA-256 of the text that is embedded: title, heading, content
metadata  the document's, and the chunk's own beside it
tenant  reserved: always empty
language  text search configuration, by name; NULL: the collection's
lexemes  words of the embedded text with their positions
lexeme_count  length in BM25: the number of lexeme positions
enriched  what rules found for this chunk alone, which is in metadata too
context  what a model wrote about its place in the document; embedded and lexed before content
context_source  the document's text and the settings that the context was written for$$),
('embeddings',
 'Vectors, one partition per embedding space: dimensions are checked and indexed there.',
$$space_id  space whose model made the vector
chunk_id  chunk that it is the vector of
embedding  the vector, half precision$$),
('jobs',
 'Work that is not done. A finished job is deleted; one whose lease expired is taken again.',
$$job_id  number of the job, in the order of queueing
collection_id  collection of the document
document_id  document to be worked on
kind  ingest: chunk it, embed what is new; embed: for one space; else a kind of rag.enrichments
space_id  space that lacks vectors, of kind embed only
state  waiting (running while it has a lease that has not expired) or dead
priority  larger is taken first
run_at  when it is due
attempts  how often it was taken; one that is handed back does not count
max_attempts  after so many attempts it is dead
lease  token that only its worker knows; NULL: nobody works on it
lease_expires_at  until when the worker must extend the lease or finish
worker  name of the worker that took it last
errors  its failures, oldest first
created_at  when it was queued$$),
('backlogs',
 'Collections whose documents are queued in batches, after a change that concerns all of them.',
$$backlog_id  number of the backlog
collection_id  collection whose documents are queued
kind  ingest after a change of the chunking, embed for a space, else a kind of rag.enrichments
space_id  space that is filled, of kind embed only
after_document  queued up to this document, in the order of document_id
fence  transactions from this one on know the space
created_at  when it began$$),
('enrichments',
 'What a collection''s documents are enriched with.',
$$collection_id  collection whose documents they are
kind  enrich: rules find fields; extract: a model does; context: a model writes chunks' contexts
settings  the rules, or the fields and the model; '[]' or '{}': none any more
version  counts changes of the settings$$),
('budgets',
 'What a provider of models may be asked, by all workers together. NULL is no limit.',
$$provider  a model's name up to the colon
requests_per_minute  calls that may begin in a minute
tokens_per_minute  tokens that may be sent in a minute
spend_cap  units that may be spent in a period
spend_period  day (UTC) or total
token_price  units per million tokens
window_started_at  when the current minute began
window_requests  calls in the current minute
window_tokens  tokens in the current minute
spent_since  when the current period began
spent  units spent in the current period
blocked_until  nobody asks before that time, as after a 429
blocked_reason  why$$),
('usage',
 'What models were asked and what it cost, by day. Written by rag.record_usage.',
$$day  day of the calls (UTC)
role_name  role that asked
collection_name  collection that was asked about
strategy  strategy of the answer
call_kind  what the calls were for: answer, helper, rewrite, verify, rerank, …
model_name  model that was asked
slot  one of 8 rows of the same figures, so that writers seldom wait for each other
answers  answers, counted with the first kind of call of each
calls  calls of the model
prompt_tokens  tokens that it read
answer_tokens  tokens that it wrote
cost  US dollars, by list prices
unpriced_calls  calls of a model whose price is not known; they are not in cost
cached_hits  calls that were not made, for a cache knew their reply
failures  calls without a usable reply$$),
('workers',
 'Workers that run, as their heartbeats report them.',
$$worker  name that it gave itself
version  release of its program
collections  those it works for; NULL: all
concurrency  jobs that it works on at a time
leased_jobs  jobs that it has leased now
rates  jobs a second that each collection got of late
started_at  when it first reported
seen_at  when it last reported$$),
('installed',
 'What the last upgrade installed, read by rag-pg db check.',
$$kind  release, replaced, file (of sql/), function, table, or pgvector
name  version, digest that was replaced, path below sql/, signature, object, or pgvector's schema
digest  SHA-256 of all files, a file or a function, definition of a table's part$$),
('access_grants',
 'Which rights rag.grant_access gave to which roles: every upgrade gives them again.',
$$role_name  the role
access  the kind of use$$),
('alembic_version',
 'The revision of the tables, written by Alembic.',
$$version_num  name of the revision$$),
('maintenance_failures',
 'Steps of maintenance that failed when they were last tried.',
$$task  the step, as rag.maintenance_steps names it
target  collection or source that it was about; 0: none
message  the error
failed_at  when it failed$$),
('document_info',
 'A document as it is shown.',
$$document_id  derived from the collection's name and the uri
uri  the caller's name of the document
title  its title
content  the whole text; NULL in lists
media_type  what kind of text it is
language  text search configuration; NULL: the collection's
metadata  what filters, facets and boosts read
version  counts changes of the text
chunks  how many chunks it has
state  ready, pending (work is queued) or failed
error  why it failed
created_at  when it was first put
updated_at  when it was last changed$$),
('hit',
 'One search result.
Ranks start at 1; that of a leg that did not find the chunk, or was skipped, is NULL.
vector_distance and keyword_score are there wherever they were computed: weighted and auto fusion
compute both for every candidate.',
$$chunk_id  chunk that was found
document_id  document that it is a span of
uri  the document's name
title  the document's title
heading  path of headings above the chunk
content  text of the chunk
metadata  of the document and the chunk
score  larger is better, comparable within one call only
vector_rank  rank in the vector leg
vector_distance  distance to the query's vector: smaller is nearer
keyword_rank  rank in the keyword leg
keyword_score  BM25 score$$),
('collection_info',
 'A collection as it is listed: its settings and its active embedding space.',
$$collection_id  number of the collection
name  as callers write it
model  what makes the vectors of the active space
dimensions  length of its vectors
distance  cosine, l2 or ip
language  default text search configuration
chunking  how documents are cut into chunks
fingerprint  of the first embedder that opened the space; NULL: none yet
space_id  number of the active space
description  what the documents are and what they answer; '' where nobody said it
keep_versions  seconds for which texts that were replaced or deleted stay
keep_answers  seconds for which answers are logged
sample_queries  share of searches that is kept to be replayed
keep_query_text  whether their words are kept
keep_queries  seconds for which they are kept
max_queries  how many of them at most
recall_target  share of the nearest that vector searches are to find; 0: not measured
ef_search  how widely the active space's index is searched; NULL: chosen by size
keep_original  whether the files that documents are made from are stored, too$$),
('finding',
 'What a check of rag.doctor found.',
$$check_name  which check
status  ok, warn or fail
detail  what was found
remedy  what to do about it; NULL where all is well$$),
('status_line',
 'A line of rag.status.',
$$topic  release, collection, queue, worker or finding
name  of what the line is about; NULL: there is none
state  in one word
detail  in numbers$$),
('candidate',
 'A chunk that a search may return: rag.hit without its document.',
$$chunk_id  chunk that was found
score  larger is better, comparable within one call only
vector_rank  rank in the vector leg
vector_distance  distance to the query's vector: smaller is nearer
keyword_rank  rank in the keyword leg
keyword_score  BM25 score$$),
('search_arguments',
 'The arguments of a search, checked by rag._check_search_arguments.',
$$collection_key  collection_id of the collection
query_text  NULL: no keyword leg
query_embedding  NULL: no vector leg
result_limit  hits wanted
metadata_filter  the filter as it was given
filter_sql  the filter as SQL, from rag._compile_filter; NULL: none
filter_indexed  whether an index serves the whole filter
filter_undeclared  fields of the filter that are not declared
vector_weight  weight of the vector leg; NULL: the fusion's own
keyword_weight  weight of the keyword leg; NULL: the fusion's own
fusion  auto, weighted or rrf
rrf_k  smoothing of reciprocal rank fusion
candidate_limit  chunks that each leg contributes
diversity  0 to 1: how much similar hits are avoided
per_document  hits of one document at most; NULL: any number
duplicates  whether chunks of equal text are all returned
boosts  factors by metadata, applied in order
ef_search  breadth of the walk in the vector index; NULL: chosen
result_offset  hits that are skipped, for the next page
typo_tolerance  whether unknown words are searched for as other spellings or words one edit away$$),
('originals',
 'The files that documents were made from, where they are kept.',
$$collection_id  of the document
document_id  of the document
file_name  as it was given
media_type  of the file
size  in bytes, at most 100,000,000
sha256  of the bytes
data  the file
kept_at  when it was stored$$),
('keyword_changes',
 'Chunks written or deleted since the last merge.
A merge takes them away. Writers append here and touch nothing else, so they never wait for one
another.',
$$collection_id  collection of the chunk
chunk_id  chunk that changed
change  +1 written, -1 deleted
lexeme_count  its length in BM25
lexemes  of deleted chunks only: a written one still has its own$$),
('keyword_slots',
 'The merged chunks by slot: the dense number by which postings name a chunk.
Block n holds the slots 16000 n to 16000 n + 15999. A deleted chunk keeps its slot until
compaction takes its block apart; the block is then free and used again, so slot numbers do not
run out.',
$$collection_id  collection of the chunk
slot  number of the chunk in postings
chunk_id  chunk that has the slot$$),
('keyword_postings',
 'Which chunks of a segment contain a lexeme, deleted ones included.
In one of three forms. One posting only (two rows in three): in the row itself. Rare lexemes, and
all of an open segment: in postings; a lexeme has one such row per merge until its block is full,
one row afterwards. Frequent lexemes of a sealed segment: in weights, which pgvector adds up.
Weights select candidates; scores come from the chunks.',
$$collection_id  collection of the chunks
segment  first slot of the segment
posting_or_count  the single posting (rag._posting), else minus the number of chunks
idf  inverse document frequency with which the weights were computed
top  the largest of the weights
lexeme  the word as it is indexed
postings  exact: slot, length and frequency of each chunk (rag._posting)
weights  at slot within the block + 1: thousandths of the BM25 contribution, rounded up$$),
('keyword_removed',
 'How many deleted chunks the postings of a lexeme still count.
Written by merges and compaction only. Live document frequency = chunks of all segments - removed
+ fresh changes (rag._chunk_counts), so it is exact before any compaction.',
$$collection_id  collection of the chunks
lexeme  the word as it is indexed
chunk_count  deleted chunks that its postings still count$$),
('keyword_segments',
 'The segments of each collection; none reaches beyond its block of 16,000 slots.',
$$collection_id  collection of the segment
segment  its first slot
sealed  whether its frequent lexemes have become weights for good
average_length  of a chunk, when the segment was made
k1  BM25 parameter when the segment was made
b  BM25 parameter when the segment was made$$),
('keyword_totals',
 'Live merged chunks of a collection, one row each, written by merges only.
Live number of chunks = chunk_count + fresh changes.',
$$collection_id  collection that is counted
chunk_count  live merged chunks
length_sum  sum of their lengths
next_slot  next slot of the block that grows; at the beginning of a block, none grows$$),
('keyword_languages',
 'Text search configurations that a collection''s chunks have used besides its own.
A query is lexed by each. Repeated rows are harmless: two writers may add the same one at once.',
$$collection_id  collection of the chunks
language  text search configuration, by name$$),
('ordinary_words',
 'The most frequent words of a language, which typo tolerance takes for no errors.
Made from wordfreq (CC BY-SA 4.0); written by an upgrade, read by rag._ordinary_words.',
$$language  name of a stemmer
filter  Bloom filter of the words: 10 bits a word, 7 of them set$$),
('scored_chunk',
 'A chunk and its BM25 score.',
$$chunk_id  chunk that was scored
score  BM25: larger is better$$),
('keyword_query',
 'A lexed query with the live statistics of one collection, made by rag._prepare_keyword.
Its arrays have one entry per lexeme, the weightiest first.',
$$collection_key  collection_id of the collection
lexemes  words of the query as they are indexed
term_queries  the same as tsquery
query_frequencies  query term frequency: how often the query contains the lexeme
chunk_counts  live document frequency
factors  weight × query term frequency × idf
chunk_count  live chunks of the collection
average_length  of a live chunk
k1  BM25 parameter
b  BM25 parameter
fresh_chunks  written and not yet merged, to be scored one by one
weights  1, or rag._fuzzy_weight
mistyped  the word of the query, which no chunk has, that the lexeme stands for; NULL: its own
spellings  a word of the lexeme; NULL: as in the query$$),
('sources',
 'Tables of applications that collections follow. The triggers on a table name the source:
where they are is where the table is.',
$$source_id  number of the source, which names its triggers
collection_id  collection that follows the table
table_name  name when it was attached, for messages
definition  what rows become documents and how; columns as [name, attnum]
phase  backfill (every row is read once), sweep, follow, or remove (detached: documents go)
reached  last key of the backfill, or last document of the sweep
rows_done  rows that the backfill has read
rows_total  rows that it expected
rows_failed  rows that could not become documents
row_error  the last such row's error
broken  why nothing is followed until it is mended
attached_at  when it was attached
followed_at  when a worker last had nothing left to do$$),
('source_changes',
 'Keys of rows that were written and are not followed yet: all that the triggers write.',
$$source_id  source of the row
change_id  number of the change, in the order of writing
key  the row's key; NULL: every row is read again
reason  why a key is not known, where the trigger could not tell which rows changed$$),
('source_documents',
 'The documents that a source has put, and the keys of their rows.',
$$source_id  source of the document
document_id  document that was put
key  key of its row$$),
('worker_calls',
 'What somebody waits for now: a question to embed or to answer.
Who asked deletes it; what nobody reads expires. Unlogged: no commit of it waits for the disk.',
$$request_id  number of the call
collection_id  collection that is asked
kind  embed_query or ask
arguments  the question and its settings
result  the answer, once there is one
error  why there is none
worker  who took it; NULL: nobody yet
created_at  when it was asked
expires_at  until when somebody waits$$),
('calibrations',
 'With which evidence the answers of a collection are right, and how often.',
$$collection_id  collection that was measured
space_id  its active space then: the calibration holds for that
model_fingerprint  of the embedder, as the space has it
set_name  set of questions that it was measured on; empty: not told
settings  how it was asked, e.g. limit and release
features  names of what answers are judged by
answerable_weights  intercept and weights of the probability that the documents answer
right_weights  intercept and weights of the probability that the answer then is right
evidence_floor  evidence that questions with an answer have; less counts against both
thresholds  of the support (both probabilities multiplied), ascending
answered  how many questions have that support or more
correct  how many of these are answered right
lower_bounds  of the share of right answers, exact, 95 %
question_count  questions that were asked
answerable_count  those that the documents answer
refuse_below  of the probability that the documents answer: less is refused
answer_from  with this support an answer stands as it is; in between it is hedged
context_ratio  passages with at least this share of the best hit's score are shown; NULL: all
figures  what was measured on the way, by name
calibrated_at  when
with_judgement  whether a language model's judgement is among the features
judge_model  the model that judges; NULL: none
judge_version  of what it is asked
corpus_fingerprint  of the documents then (rag.corpus_fingerprint)$$),
('eval_sets',
 'A set of questions with what is right for them, for any collection.',
$$set_id  number of the set
name  as callers write it
description  where its questions come from
created_at  when it was made$$),
('eval_queries',
 'A question of a set, and what is expected of its answer.',
$$set_id  set that it belongs to
query_id  the caller's name of the question, unique in its set
question  as a user would ask it
category  measures are given for each as well; empty: none
source  who wrote it: human, synthetic (a model), feedback (of users) or log (questions of users)
unanswerable  whether the documents do not answer it
answers  right answers, each enough by itself
expected_terms  texts that the answer, or without one the hits, must hold
expected_metadata  a filter that the metadata of a hit must pass; {} for none
min_score  the best hit must reach this score
created_at  when it was put$$),
('eval_judgements',
 'A document or a passage of it that is relevant to a question. It names no chunk: chunks are found
anew whenever a run is recorded.',
$$set_id  set of the question
query_id  question that is judged
judgement_number  order of the judgements of a question
uri  document
quote  text of the passage; NULL: the whole document, or what the offsets say
start_offset  where the passage begins, in characters of the document
stop_offset  where it ends
grade  how relevant: above 0 is relevant$$),
('eval_embeddings',
 'Vectors of questions, so that SQL alone can run a set again.',
$$set_id  set of the question
query_id  question that was embedded
fingerprint  of the embedder, as a space has it
question_hash  of the text that was embedded
embedding  vector of the question$$),
('eval_runs',
 'A set that was run on a collection with certain settings.',
$$run_id  number of the run
set_id  set that was run
collection  name of the collection
name  label of the caller; may be empty
kind  search or ask
settings  options of the search or the answer
corpus_fingerprint  of the documents (rag.corpus_fingerprint)
set_fingerprint  of the questions and judgements
model  model of the space that was searched
model_fingerprint  of its embedder
code_version  release of the schema
chunking  how the collection was cut
collection_version  rag.collection_version of the collection when the run began
baseline  whether others are compared with it
notes  what was degraded, e.g. questions that were searched for by keywords alone
started_at  when it began
finished_at  when it ended; NULL: it runs, or was interrupted$$),
('eval_results',
 'What a run found for one question, judged when it was recorded.',
$$run_id  run that it belongs to
query_id  question
category  of the question, as it was then
unanswerable  whether the documents do not answer it, as it was then
hits  uri, chunk_id, start, stop, score and grade of each hit, best first
grades  of the ranked documents, or of the ranked chunks where a passage is judged; 0: not relevant
judgement_grades  of what is relevant to the question
judgement_ranks  where each of these was found first, from 1; NULL: not found
unresolved  judgements that no longer describe the corpus
confidence  how sure the answer is, larger is surer; what abstention is measured by
answered  false: it was said that the documents do not answer; NULL: a search
answer  text of the answer
answer_contained  whether the answer holds one of the right ones
answer_f1  the best token F1 with one of the right ones
statements  of the answer
supported_statements  those that what they cite supports
citations  of the answer
supporting_citations  those that are proven and support their statement
assertions  each expectation with whether it was met: terms, metadata, min_score
seconds  it took
prompt_tokens  of all calls of models
answer_tokens  of all calls of models
cost  US dollars; NULL: not known
error  why there is no result$$),
('eval_scores',
 'What a judge says of one result of a run.',
$$run_id  run of the result
query_id  question of the result
judge  name of the judge
judge_version  changes with its prompt and its model
score  0 to 1, larger is better
reason  why
error  why there is no score
scored_at  when it was said last; of a judge's versions the one that said something last counts$$),
('gates',
 'What a collection demands of its changes: that a metric on a set does not fall.',
$$collection_id  collection
set_id  set that is asked
metric  name that rag.query_metrics gives
epsilon  by how much it may fall
k  of how many hits it is
options  arguments of rag.search that are measured with
created_at  when it was made$$),
('gate_checks',
 'What gates decided. Changes that are refused are rolled back: a client records them after that.',
$$check_id  number of the check
collection  name of the collection
action  change, or runs that were compared
outcome  passed, failed (a run), refused or forced (a change)
details  figures of each gate and category, with the questions that lost most
checked_by  login of the caller
checked_at  when$$),
('eval_verdicts',
 'Verdicts of judging models, kept so that none is asked twice.',
$$prompt_hash  SHA-256 of model and prompt
judge_version  version of the judge
verdict  score, reason and tokens
created_at  when it was given$$),
('eval_judges',
 'How well a judge agrees with people, by a labelled sample. A judge without a row is advisory.',
$$judge  name of the judge
judge_version  its version
samples  how many results were labelled
accuracy  share of them on which both agree
accuracy_low  lower bound of its 95 % interval (Wilson)
accuracy_high  upper bound
kappa  agreement beyond chance (Cohen); NULL where one side gave one label alone
measured_at  when it was measured$$)
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
