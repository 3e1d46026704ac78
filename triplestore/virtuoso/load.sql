-- kgtable export --kg graph/ -o import/graph.nq --as nquads
-- docker compose exec -T virtuoso isql 1111 dba "$VIRTUOSO_PASSWORD" < load.sql
-- Virtuoso stores another value for each xsd:dayTimeDuration; kgtable push keeps them under a datatype of its own. Before
-- loading a file, do the same:
-- sed -i 's|"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>|"^^<urn:kgtable:dayTimeDuration>|' import/graph.nq
-- Virtuoso has no default graph: what has no graph in the file goes to urn:kgtable:description.
ld_dir ('/import', 'graph.nq', 'urn:kgtable:description');
rdf_loader_run ();
checkpoint;
select ll_file, ll_state, ll_error from DB.DBA.LOAD_LIST;
