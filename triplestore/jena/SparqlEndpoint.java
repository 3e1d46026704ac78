// A SPARQL endpoint over Apache Jena's query engine (ARQ) and its store (TDB2, in memory), for tests where Fuseki cannot
// be installed: Debian packages the libraries but not the server.
//
//   java -cp '/usr/share/java/*:FIX' triplestore/jena/SparqlEndpoint.java PORT
//
// Debian's jena-core.jar has the messages of its XML Schema parser where that does not look: unpack
// org/apache/jena/ext/xerces from it and name the folder FIX/xerces.
//
// /query takes the SPARQL 1.1 Protocol's form (query, default-graph-uri), /data the Graph Store Protocol (GET, PUT,
// POST, DELETE with ?graph= or ?default). As in Fuseki with tdb2:unionDefaultGraph, the default graph of a query is the
// union of the named graphs; a query with default-graph-uri sees these graphs as its default graph, and no named ones.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.apache.jena.query.Dataset;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryExecution;
import org.apache.jena.query.QueryExecutionFactory;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.query.QueryParseException;
import org.apache.jena.query.ReadWrite;
import org.apache.jena.query.ResultSetFormatter;
import org.apache.jena.rdf.model.Model;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFDataMgr;
import org.apache.jena.sparql.core.DatasetDescription;
import org.apache.jena.sparql.core.DynamicDatasets;
import org.apache.jena.sys.JenaSystem;
import org.apache.jena.tdb2.TDB2;
import org.apache.jena.tdb2.TDB2Factory;

public class SparqlEndpoint {
    private static final Dataset DATA;

    static {
        JenaSystem.init();
        DATA = TDB2Factory.createDataset();
        DATA.getContext().set(TDB2.symUnionDefaultGraph, true);
    }

    private record Answer(int status, String type, byte[] body) {}

    public static void main(String[] arguments) throws IOException {
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
        HttpServer server = HttpServer.create(address, 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/query", exchange -> handle(exchange, SparqlEndpoint::query));
        server.createContext("/data", exchange -> handle(exchange, SparqlEndpoint::graph));
        server.start();
    }

    private static void handle(HttpExchange exchange, Function<HttpExchange, Answer> respond) throws IOException {
        Answer answer;
        try {
            answer = respond.apply(exchange);
        } catch (QueryParseException error) {
            answer = text(400, error.getMessage());
        } catch (Exception error) {
            answer = text(500, String.valueOf(error));
        }
        try (exchange) {
            exchange.getResponseHeaders().set("Content-Type", answer.type);
            exchange.sendResponseHeaders(answer.status, answer.body.length == 0 ? -1 : answer.body.length);
            if (answer.body.length > 0) {
                exchange.getResponseBody().write(answer.body);
            }
        }
    }

    private static Answer text(int status, String message) {
        return new Answer(status, "text/plain", message.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] body(HttpExchange exchange) {
        try {
            return exchange.getRequestBody().readAllBytes();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static List<String> fields(String form, String name) {
        List<String> found = new ArrayList<>();
        for (String pair : (form == null ? "" : form).split("&")) {
            String[] parts = pair.split("=", 2);
            if (parts[0].equals(name)) {
                found.add(parts.length < 2 ? "" : URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
            }
        }
        return found;
    }

    private static Answer query(HttpExchange exchange) {
        String form = exchange.getRequestMethod().equals("POST")
            ? new String(body(exchange), StandardCharsets.UTF_8)
            : exchange.getRequestURI().getRawQuery();
        Query query = QueryFactory.create(fields(form, "query").get(0));
        List<String> graphs = fields(form, "default-graph-uri");
        DATA.begin(ReadWrite.READ);
        try {
            Dataset seen = graphs.isEmpty()
                ? DATA
                : DynamicDatasets.dynamicDataset(DatasetDescription.create(graphs, List.of()), DATA, false);
            try (QueryExecution execution = QueryExecutionFactory.create(query, seen)) {
                return answer(query, execution);
            }
        } finally {
            DATA.end();
        }
    }

    private static Answer answer(Query query, QueryExecution execution) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        if (query.isSelectType()) {
            ResultSetFormatter.outputAsJSON(out, execution.execSelect());
        } else if (query.isAskType()) {
            ResultSetFormatter.outputAsJSON(out, execution.execAsk());
        } else {
            Model model = query.isConstructType() ? execution.execConstruct() : execution.execDescribe();
            RDFDataMgr.write(out, model, Lang.NTRIPLES);
            return new Answer(200, "application/n-triples", out.toByteArray());
        }
        return new Answer(200, "application/sparql-results+json", out.toByteArray());
    }

    private static Answer graph(HttpExchange exchange) {
        List<String> names = fields(exchange.getRequestURI().getRawQuery(), "graph");
        String method = exchange.getRequestMethod();
        boolean reads = method.equals("GET") || method.equals("HEAD");
        byte[] sent = body(exchange);
        DATA.begin(reads ? ReadWrite.READ : ReadWrite.WRITE);
        try {
            if (!names.isEmpty() && (reads || method.equals("DELETE")) && !DATA.containsNamedModel(names.get(0))) {
                return text(404, "There is no such graph.");
            }
            Model model = names.isEmpty() ? DATA.getDefaultModel() : DATA.getNamedModel(names.get(0));
            if (reads) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                RDFDataMgr.write(out, model, Lang.NTRIPLES);
                return new Answer(200, "application/n-triples", out.toByteArray());
            }
            if (!method.equals("POST")) {
                model.removeAll();
            }
            if (!method.equals("DELETE")) {
                RDFDataMgr.read(model, new java.io.ByteArrayInputStream(sent), Lang.NTRIPLES);
            }
            DATA.commit();
            return new Answer(204, "text/plain", new byte[0]);
        } finally {
            DATA.end();
        }
    }
}
